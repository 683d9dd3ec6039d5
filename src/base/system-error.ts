/** The code of an error of the operating system, such as `ENOENT`. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;

/** There is no such file, or a part of its path is not a directory. */
export const isMissing = (error: unknown): boolean =>
  ["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "");
