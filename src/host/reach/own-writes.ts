import { type WrittenContent, type WrittenFile, wasLeftAlone, writtenAt } from "./written-file.ts";

const MAX_NOTED = 1000;

/** What the file tools wrote of late, so that it is not blamed on a command that ran at the same time. */
export type OwnWrites = ReturnType<typeof createOwnWrites>;

/** `writtenElsewhere` tells what other programs of llmc wrote for the operator. */
export const createOwnWrites = (
  writtenElsewhere: (realPath: string) => WrittenFile | undefined = () => undefined,
) => {
  const noted = new Map<string, WrittenFile>();
  return {
    /**
     * Notes what is at a path now, which a tool has just put there. A command that has replaced it since then gains
     * nothing: what it put there has another hash.
     */
    note: (realPath: string, content: WrittenContent): void => {
      const written = writtenAt(realPath, content);
      noted.delete(realPath);
      if (written === undefined) return;
      noted.set(realPath, written);
      const [oldest] = noted.keys();
      if (noted.size > MAX_NOTED && oldest !== undefined) noted.delete(oldest);
    },
    /** Whether the file or folder at a path is the one that llmc put there, and nobody has touched it since. */
    has: (realPath: string): boolean =>
      wasLeftAlone(realPath, noted.get(realPath)) || wasLeftAlone(realPath, writtenElsewhere(realPath)),
  };
};
