/**
 * Longer than any argument that a client can send in one message; only the command line has longer ones, and a copy of them
 * as JSON would be held for as long as the call takes.
 */
const MAX_COPIED_CHARS = 16 * 1024 * 1024;

/** The arguments of a call as they are measured and digested: JSON, with the digest of a very long text in its place. */
export const argumentsText = (args: unknown, digest: (text: string) => string): string =>
  JSON.stringify(args ?? {}, (_, value: unknown) =>
    typeof value === "string" && value.length > MAX_COPIED_CHARS
      ? `[${Buffer.byteLength(value)} bytes: ${digest(value)}]`
      : value,
  );
