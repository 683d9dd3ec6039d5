/**
 * A vector as signed bytes, its largest number at 127: cosines divide by the length of the bytes, so each vector may use
 * the whole range of a byte. A zero vector stays zero.
 */
export const toBytes = (vector: ArrayLike<number>): Int8Array => {
  let largest = 0;
  for (let i = 0; i < vector.length; i++) largest = Math.max(largest, Math.abs(vector[i] ?? 0));
  const bytes = new Int8Array(vector.length);
  if (!(largest > 0) || !Number.isFinite(largest)) return bytes;
  const scale = 127 / largest;
  for (let i = 0; i < vector.length; i++) bytes[i] = Math.round((vector[i] ?? 0) * scale);
  return bytes;
};
