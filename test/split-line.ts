/** Splits at blanks outside quotes, for tables of commands in tests; nothing else is special. */
export const splitLine = (line: string): readonly [string, ...string[]] => {
  const pieces = line.matchAll(/(?:'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]|[^\s'"\\])+/g);
  const [program = "", ...args] = [...pieces].map(([piece]) =>
    piece.replaceAll(
      /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])/g,
      (_whole, single?: string, double?: string, escaped?: string) =>
        single ?? double?.replaceAll(/\\(["\\])/g, "$1") ?? escaped ?? "",
    ),
  );
  return [program, ...args];
};
