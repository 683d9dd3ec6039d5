/** Term frequency saturation and length normalisation: the usual values, from Robertson and Zaragoza, 2009. */
export const BM25_K1 = 1.2;
export const BM25_B = 0.75;
