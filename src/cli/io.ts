import { showControls } from "../base/text.ts";

/** The terminal; the wiring provides it. */
export interface Io {
  /** Text for people. Names in it may come from anybody, so control characters are made visible, on a pipe as well. */
  out(text: string): void;
  /** Data for programs, content of files and commands: only on a terminal are control characters made visible. */
  data(text: string): void;
  /** Text for people, as `out`. */
  err(text: string): void;
  /** Draws the current line of stderr again. */
  redraw(line: string): void;
  /** Whether stdout is a terminal that shows colours, and the user wants them (NO_COLOR, TERM=dumb). */
  readonly hasColours: boolean;
  /** Whether stderr is a terminal on which a line can be drawn again. */
  readonly canRedraw: boolean;
  /** Whether a person can answer questions. */
  readonly canAsk: boolean;
  /** Asks on the terminal; false if there is none. */
  confirm(question: string): Promise<boolean>;
  /** Asks on the terminal; empty if there is none. */
  ask(question: string): Promise<string>;
  /** All of stdin; refused where that is more. */
  readInput(maxBytes: number): Promise<string>;
  /** Calls back each time that the program is told to end: by ctrl-c, by SIGTERM, by its terminal's end. */
  onInterrupt(listener: () => void): void;
}

const paint =
  (code: number) =>
  (text: string, on: boolean): string =>
    on ? `\u001b[${code}m${text}\u001b[0m` : text;

export const green = paint(32);
export const yellow = paint(33);
export const red = paint(31);
export const bold = paint(1);

/** What `paint` and diffs write. A name can at most change a colour, and only where colours are shown. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const OWN_COLOURS = /(\u001b\[(?:0|1|3[1236])m)/;

/** Text for people with its control characters made visible, except the colours of our own. */
export const forPeople = (text: string, hasColours: boolean): string =>
  hasColours
    ? text
        .split(OWN_COLOURS)
        .map((part, at) => (at % 2 === 1 ? part : showControls(part)))
        .join("")
    : showControls(text);

/** A name as one line of a text for people: what else it holds is made visible where it is written. */
export const onOneLine = (name: string): string => name.replaceAll(/[\n\u2028\u2029]/g, "␊");

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
