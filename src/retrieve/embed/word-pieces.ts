/** Longer words were cut to this length in training. */
const MAX_WORD_CHARS = 40;

export const createWordPieces = (vocabulary: readonly string[]) => {
  const whole = new Map<string, number>();
  const continuation = new Map<string, number>();
  vocabulary.forEach((token, number) => {
    if (token === "") return;
    if (token.startsWith("##") && token.length > 2) continuation.set(token.slice(2), number);
    else whole.set(token, number);
  });

  const longest = (word: string, from: number): readonly [token: number, end: number] | undefined => {
    const known = from === 0 ? whole : continuation;
    for (let end = word.length; end > from; end--) {
      const token = known.get(word.slice(from, end));
      if (token !== undefined) return [token, end];
    }
    return undefined;
  };

  return {
    /** Token ids of a lower-case word: its own if it is known, otherwise those of the longest pieces from the left; unknown letters are skipped. */
    split: (word: string): readonly number[] => {
      const found = whole.get(word);
      if (found !== undefined) return [found];
      const cut = word.slice(0, MAX_WORD_CHARS);
      const pieces: number[] = [];
      for (let at = 0; at < cut.length; ) {
        const piece = longest(cut, at);
        if (piece !== undefined) pieces.push(piece[0]);
        at = piece?.[1] ?? at + 1;
      }
      return pieces;
    },
  };
};
