/** Gives what a file holds, or what follows from it, to a caller who may read it; nothing to any other. */
export type Reveal = <T>(show: () => T) => T | undefined;
