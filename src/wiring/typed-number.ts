/** A number as typed; other text is passed on, and the tool refuses it with a reason. */
export const typedNumber = (typed: string | undefined): unknown =>
  typed === undefined || typed.trim() === "" || Number.isNaN(Number(typed)) ? typed : Number(typed);
