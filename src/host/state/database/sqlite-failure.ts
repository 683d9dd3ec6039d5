// Result codes of SQLite (sqlite.org/rescode.html).
const BUSY = [5, 6];
const DAMAGED = [11, 26];
const UNWRITABLE = [3, 8, 14];
const FULL = 13;
const IO = 10;

export const resultCode = (error: unknown): number =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode & 0xff
    : 0;

export const isBusy = (error: unknown): boolean => BUSY.includes(resultCode(error));
export const isDamaged = (error: unknown): boolean => DAMAGED.includes(resultCode(error));
export const isWriteRefused = (error: unknown): boolean => UNWRITABLE.includes(resultCode(error));

/** Damage that we found ourselves, told as SQLite tells it. */
export const damage = (what: string): Error => Object.assign(new Error(what), { errcode: DAMAGED[0] });

/** What is wrong with the disk, as the end of a sentence about the file; undefined where something else is. */
export const diskFailure = (error: unknown): string | undefined => {
  const code = resultCode(error);
  if (code === FULL) return "cannot be written: no space is left on the disk.";
  if (code === IO) return "cannot be read or written: the disk reports an error.";
  return isWriteRefused(error) ? "cannot be written." : undefined;
};
