/** Not `Math.max(...)`: a hundred thousand files or chunks are more arguments than a call can take. */
export const largest = (values: Iterable<number>, least: number): number => {
  let max = least;
  for (const value of values) max = Math.max(max, value);
  return max;
};
