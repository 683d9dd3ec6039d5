/** Caches the results of a function of a text. The cache is cleared when it is full, so that memory stays bounded. */
export const memoize = <T>(make: (text: string) => T, maxEntries: number): ((text: string) => T) => {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = make(text);
    if (known.size >= maxEntries) known.clear();
    known.set(text, made);
    return made;
  };
};
