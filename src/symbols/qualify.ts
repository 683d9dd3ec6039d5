/** Machine-made nesting must not multiply names: the innermost part then stands alone. */
const MAX_QUALIFIED = 400;

/** Name with those around it, joined by dots. */
export const qualify = (above: string | undefined, name: string): string => {
  const joined = above === undefined ? name : `${above}.${name}`;
  return joined.length > MAX_QUALIFIED ? name : joined;
};
