const MAX_NOTED = 1000;

/** What the file tools wrote of late, so that it is not blamed on a command that ran at the same time. */
export type OwnWrites = ReturnType<typeof createOwnWrites>;

export const createOwnWrites = () => {
  const noted = new Set<string>();
  return {
    note: (realPath: string): void => {
      noted.delete(realPath);
      noted.add(realPath);
      const [oldest] = noted;
      if (noted.size > MAX_NOTED && oldest !== undefined) noted.delete(oldest);
    },
    /** Whether the path, or something in it, was written by a file tool. */
    covers: (realPath: string): boolean =>
      noted.has(realPath) || [...noted].some((path) => path.startsWith(`${realPath}/`)),
  };
};
