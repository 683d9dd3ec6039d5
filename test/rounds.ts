export const isLong = process.env["LLMC_TEST_LONG"] !== undefined;

/** Rounds of a long test: its full form in `npm run test:long`, a short one in `npm test`. */
export const rounds = (short: number, long: number): number => (isLong ? long : short);
