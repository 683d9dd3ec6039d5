/** The processor time that some work takes in this thread: unlike time on the clock, it is the same on a busy machine. */
export const cpuMs = (work: () => unknown): number => {
  const start = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
};
