/** What ripgrep says about one path that it could not read; the name may have line breaks of its own. */
const FAILURE = /^rg: \.\/(.*): .* \(os error (\d+)\)$/s;
const FAILURE_END = / \(os error \d+\)$/;
/** A file that went away while it was searched for is not a failure. */
const ENOENT = "2";
/** Longer than any path with its message. */
const MAX_CHARS = 16 * 1024;

export interface PathFailures {
  /** Standard error as it comes. */
  take(text: string): void;
  /** Whether a path failed, for whatever reason: then nothing was wrong with the search as such. */
  hasAny(): boolean;
}

/** Tells what ripgrep says about single paths from complaints about the search, which come without one. */
export const createPathFailures = (onUnread: (path: string) => void): PathFailures => {
  let rest = "";
  let message = "";
  let hasAny = false;
  const takeLine = (line: string): void => {
    message = line.startsWith("rg: ") ? line : `${message}\n${line}`.slice(-MAX_CHARS);
    if (!FAILURE_END.test(line)) return;
    hasAny = true;
    // A line without a path is the end of a name that pretends to be a message.
    const [, path = "", code] = FAILURE.exec(message) ?? [];
    if (code !== ENOENT) onUnread(path);
    message = "";
  };
  return {
    take: (text) => {
      const lines = `${rest}${text}`.split("\n");
      rest = (lines.pop() ?? "").slice(-MAX_CHARS);
      for (const line of lines) takeLine(line);
    },
    hasAny: () => hasAny,
  };
};
