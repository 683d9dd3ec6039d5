/** The terminal; the wiring provides it. */
export interface Io {
  out(text: string): void;
  /** Content of files and commands: on a terminal its control characters are made visible. */
  data(text: string): void;
  err(text: string): void;
  /** Whether stdout is a terminal that shows colours, and the user wants them (NO_COLOR, TERM=dumb). */
  readonly hasColours: boolean;
  /** Whether stderr is a terminal on which a line can be drawn again. */
  readonly canRedraw: boolean;
  /** Whether a person can answer questions. */
  readonly canAsk: boolean;
  /** Asks on the terminal; false if there is none. */
  confirm(question: string): Promise<boolean>;
  readInput(): Promise<string>;
}

const paint =
  (code: number) =>
  (text: string, on: boolean): string =>
    on ? `\u001b[${code}m${text}\u001b[0m` : text;

export const green = paint(32);
export const yellow = paint(33);
export const red = paint(31);
export const bold = paint(1);

/** Pads the cells of each column, except the last, to the widest one. */
export const table = (rows: readonly (readonly string[])[]): string => {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) =>
      row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0))).join("  "),
    )
    .join("\n");
};
