/**
 * The mean of the rows of a text's tokens, normalised to length 1. `rows` holds one row of `dimensions` per token; rows after
 * `count` are padding and ignored.
 */
export const meanPool = (rows: ArrayLike<number>, count: number, dimensions: number): Float64Array => {
  const mean = new Float64Array(dimensions);
  for (let token = 0; token < count; token++) {
    const from = token * dimensions;
    for (let i = 0; i < dimensions; i++) mean[i] = (mean[i] ?? 0) + (rows[from + i] ?? 0);
  }
  let square = 0;
  for (let i = 0; i < dimensions; i++) square += (mean[i] ?? 0) ** 2;
  const length = Math.sqrt(square);
  // The sum need not be divided by the count: normalising to length 1 makes up for it.
  for (let i = 0; length > 0 && i < dimensions; i++) mean[i] = (mean[i] ?? 0) / length;
  return mean;
};
