import { green, type Io, red, table, yellow } from "./io.ts";

/** One thing that was looked at on this machine. */
export interface Finding {
  readonly name: string;
  /** `bad` stops something that is needed now; `weak` works with less. */
  readonly state: "good" | "weak" | "bad";
  readonly says: string;
  /** The command or step that mends it. */
  readonly fix?: string | undefined;
}

const MARK = { good: "ok  ", weak: "weak", bad: "BAD " } as const;
const PAINT = { good: green, weak: yellow, bad: red } as const;

/** Shows what works here and what does not; false when something that is needed is missing. */
export const runDoctor = (
  findings: readonly Finding[],
  io: Io,
  options: { readonly json: boolean },
): boolean => {
  const healthy = findings.every(({ state }) => state !== "bad");
  if (options.json) {
    io.out(`${JSON.stringify({ healthy, findings }, null, 2)}\n`);
    return healthy;
  }
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const { name, state, says, fix } of findings) {
    io.out(`${PAINT[state](MARK[state], io.isTerminal)}  ${name.padEnd(width)}  ${says}\n`);
    if (fix !== undefined) io.out(`${table([["", "", `${" ".repeat(width)}  fix: ${fix}`]])}\n`);
  }
  io.out(
    healthy
      ? "\nEverything that is needed works.\n"
      : "\nSomething that is needed is missing or does not hold: see the lines marked BAD.\n",
  );
  return healthy;
};
