/** Plain values by name, so that two commits are compared key by key. */
export interface Figures {
  readonly [name: string]: number | string | boolean | null | Figures;
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface Report {
  readonly tables: readonly Table[];
  /** What the figures mean: targets met or missed, and what to keep in mind. */
  readonly notes: readonly string[];
  readonly figures: Figures;
}

export interface Settings {
  /** The launcher under test. */
  readonly program: string;
  /** A tenth of the rounds: to see that a benchmark works, not to quote it. */
  readonly quick: boolean;
}

export interface Benchmark {
  readonly name: string;
  readonly summary: string;
  /** What it needs from outside this repository; then it runs only when named. */
  readonly needs?: string;
  run(settings: Settings): Promise<Report>;
}

/** A line of the notes: a figure beside its target. */
export const verdictBelow = (name: string, value: number, target: number, unit: string): string =>
  `${name}: ${value} ${unit}, target at most ${target}: ${value <= target ? "met" : "MISSED"}`;

export const verdictAbove = (name: string, value: number, target: number): string =>
  `${name}: ${value}, target at least ${target}: ${value >= target ? "met" : "MISSED"}`;

const isNumeric = (cell: string | number | undefined): boolean =>
  typeof cell === "number" || /^[+-]?[\d.,]+\s?[a-z%×]*$/.test(cell ?? "");

export const renderTable = ({ head, rows }: Table): string => {
  const lines = [head, ...rows].map((line) => line.map(String));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const alignRight = head.map((_, column) => rows.some((row) => isNumeric(row[column])));
  const render = (line: readonly string[]): string =>
    line
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return alignRight[column] ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  const [first = [], ...rest] = lines;
  return [render(first), rule, ...rest.map(render)].join("\n");
};
