export const isLong = process.env["LLMC_TEST_LONG"] !== undefined;

/** Whether root has tried the same already, and an ordinary user tries it again. */
const isRepeated = process.env["LLMC_TEST_REPEATED"] !== undefined;

/** Whether what does not depend on the user is tried here. */
export const isFull = isLong || !isRepeated;

const REPEATED_ONE_IN = 4;

/** Every fourth case, and at least one. */
export const someOf = <Case>(cases: readonly Case[], first = 0): readonly Case[] => {
  const some = cases.filter((_, at) => at % REPEATED_ONE_IN === first);
  return some.length === 0 ? cases.slice(0, 1) : some;
};

/** Cases that do not depend on the user: all of them once, and all for both users in the long form. */
export const someIfRepeated = <Case>(cases: readonly Case[]): readonly Case[] =>
  isFull ? cases : someOf(cases);

/** Rounds of a long test: its full form in `npm run test:long`, a short one in `npm test`. */
export const rounds = (short: number, long: number): number => (isLong ? long : short);
