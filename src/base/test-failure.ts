/** A failed test, as a runner reported it. */
interface Failure {
  readonly name: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly message: string;
}

/** `FAIL src/a.test.ts:12 name`, and its message below. */
export const renderTestFailure = ({ name, file, line, message }: Failure): string => {
  const location = file === null ? "" : `${file}${line === null ? "" : `:${line}`}`;
  // A pytest id begins with the file, which is already shown in the location.
  const short = file !== null && name.startsWith(`${file}::`) ? name.slice(file.length + 2) : name;
  const title = ["FAIL", location, short === file ? "" : short].filter((part) => part !== "").join(" ");
  return `${title}\n${message}`.trimEnd();
};
