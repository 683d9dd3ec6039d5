import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { showControls } from "../../base/text.ts";
import { type ProgramProcess, whenClosed } from "../os/child-program.ts";
import { type ConfinementTier, FRONT_CPU_SHARE } from "./contract.ts";
import { startConfined } from "./start-confined.ts";

interface FrontStart {
  readonly program: string;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The folder of the socket to the core. */
  readonly sockets: string;
  readonly memoryMb: number;
  /** Refuse to start unless the kernel holds everything. */
  readonly isRequired: boolean;
  /** Gets the last words of a front that has ended. */
  readonly onStderr: (text: string) => void;
}

const MAX_STDERR_CHARS = 2000;

/** Those that the kernel enforces: where there is none, there is nothing to gain from a process of its own. */
const TIERS: Readonly<Record<string, readonly ConfinementTier[]>> = {
  linux: ["bubblewrap", "landlock"],
  darwin: ["seatbelt"],
};

/** The package of a program of ours, and everything that its imports are looked for in. */
const codeOf = (program: string): readonly string[] => {
  const folder = dirname(program);
  const above: string[] = [];
  for (let at = dirname(folder); ; at = dirname(at)) {
    above.push(join(at, "node_modules"));
    if (dirname(at) === at) break;
  }
  return [folder, join(dirname(folder), "package.json"), ...above].filter((path) => existsSync(path));
};

/** Starts the front with no power but to read its own code and to ask the core. */
export const startFront = async (start: FrontStart): Promise<ProgramProcess & { readonly tier: string }> => {
  const { program, flags, env, sockets, memoryMb, isRequired } = start;
  const { child, pid, kill, tier } = await startConfined(
    {
      program,
      code: codeOf(program),
      sockets: [sockets],
      stdio: ["pipe", "pipe", "pipe"],
      env,
      limits: { memoryMb, cpuShare: FRONT_CPU_SHARE },
      nodeFlags: flags,
    },
    { tiers: TIERS[process.platform] ?? [], isRequired },
  );
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null) throw new Error("the front has no pipes");
  let last = "";
  stderr?.setEncoding("utf8").on("data", (text: string) => {
    last = (last + text).slice(-MAX_STDERR_CHARS);
  });
  const exited = whenClosed(child);
  void exited.then(() => {
    if (last !== "") start.onStderr(showControls(last));
  });
  return { pid, input: stdin, output: stdout, kill, exited, tier };
};
