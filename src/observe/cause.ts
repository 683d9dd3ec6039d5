/** Type, code and stack frames without the message, which may quote arguments or content. */
export const describeCause = (cause: unknown): Readonly<Record<string, unknown>> => {
  if (!(cause instanceof Error)) return {};
  // The stack begins with the message, whose lines may look like frames.
  const stack = cause.stack ?? "";
  const start = stack.indexOf(cause.message);
  const frames = (start === -1 ? "" : stack.slice(start + cause.message.length))
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 8);
  return {
    cause: {
      type: cause.name,
      ...("code" in cause ? { code: cause.code } : {}),
      frames: frames.map((line) => line.trim()),
    },
  };
};
