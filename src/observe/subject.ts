import { posix } from "node:path";

/**
 * What a call was about, as far as a log may tell: the path that it reached, where that is relative to the workspace,
 * otherwise the arguments, of which only a digest is logged. What was refused may be anything, and is not written down.
 */
export type Subject = { readonly path: string } | { readonly args: string };

/** The same as it is written down. */
export type Where = { readonly path?: string } | { readonly args_digest?: string };

export const whereOf = (subject: Subject | undefined, digest: (text: string) => string): Where => {
  if (subject === undefined) return {};
  return "path" in subject ? subject : { args_digest: digest(subject.args) };
};

const MAX_PATH_CHARS = 200;

/** A handle is a key to what was kept. */
const isShown = (path: string): boolean =>
  path.length <= MAX_PATH_CHARS && !/^(?:\/|\.\.(?:\/|$)|handle:)/.test(path) && !/\p{Cc}/u.test(path);

/** `reached`: the argument by which the tool says that it names what a successful call reached, if there is one. */
export const subjectOf = (args: unknown, reached: string | undefined, text: () => string): Subject => {
  const given = (typeof args === "object" && args !== null ? args : {}) as Readonly<Record<string, unknown>>;
  const value = reached === undefined ? undefined : given[reached];
  if (typeof value === "string" && value !== "") {
    const path = posix.normalize(value);
    if (isShown(path)) return { path };
  }
  return { args: text() };
};
