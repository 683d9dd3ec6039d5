/** What the file tools wrote of late, so that it is not blamed on a command that ran at the same time. */
export interface OwnWrites {
  note(realPath: string): void;
  /** Whether the path, or something in it, was written by a file tool. */
  covers(realPath: string): boolean;
}

const MAX_NOTED = 1000;

export const createOwnWrites = (): OwnWrites => {
  const noted = new Set<string>();
  return {
    note: (realPath) => {
      noted.delete(realPath);
      noted.add(realPath);
      const [oldest] = noted;
      if (noted.size > MAX_NOTED && oldest !== undefined) noted.delete(oldest);
    },
    covers: (realPath) => noted.has(realPath) || [...noted].some((path) => path.startsWith(`${realPath}/`)),
  };
};
