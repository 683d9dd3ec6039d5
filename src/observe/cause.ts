/** Frames without the message: a message may quote a caller's argument or a file's text. */
export const describeCause = (cause: unknown): Readonly<Record<string, unknown>> => {
  if (!(cause instanceof Error)) return {};
  const frames = (cause.stack ?? "")
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
