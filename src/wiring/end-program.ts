const MAX_END_MS = 200;

/**
 * Ends the program when its work is done: by itself once its output is written, by force where something is still open,
 * such as stdin. Not at once: inside `process.exit`, Node 24 can wait forever for a compiler thread that waits for a
 * garbage collection (seen once in some thousand starts).
 */
export const endProgram = (): void => {
  const end = (): void => void setTimeout(() => process.exit(), MAX_END_MS).unref();
  if (process.stdout.writableLength === 0) end();
  else process.stdout.end(end);
};
