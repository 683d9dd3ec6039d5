/** Thrown through work that has not failed: it waits for an answer, and is done again when the answer is there. */
export class Suspended extends Error {}
