import { green, type Io, red, table, yellow } from "./io.ts";

/** The result of one check of this machine. */
export interface Finding {
  readonly name: string;
  /** `bad`: something that is needed does not work. `weak`: it works with restrictions. */
  readonly state: "good" | "weak" | "bad";
  readonly detail: string;
  /** The command or step that fixes it. */
  readonly fix?: string | undefined;
}

const MARK = { good: "ok  ", weak: "weak", bad: "BAD " } as const;
const PAINT = { good: green, weak: yellow, bad: red } as const;

/** Prints the findings; false if something that is needed does not work. */
export const runDoctor = (
  findings: readonly Finding[],
  io: Io,
  options: { readonly json: boolean },
): boolean => {
  const healthy = findings.every(({ state }) => state !== "bad");
  if (options.json) {
    io.data(`${JSON.stringify({ healthy, findings }, null, 2)}\n`);
    return healthy;
  }
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const { name, state, detail, fix } of findings) {
    io.out(`${PAINT[state](MARK[state], io.hasColours)}  ${name.padEnd(width)}  ${detail}\n`);
    if (fix !== undefined) io.out(`${table([["", "", `${" ".repeat(width)}  fix: ${fix}`]])}\n`);
  }
  io.out(
    healthy
      ? "\nEverything that is needed works.\n"
      : "\nSomething that is needed is missing or does not work: see the lines marked BAD.\n",
  );
  return healthy;
};
