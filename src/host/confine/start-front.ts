import { dirname } from "node:path";
import { showControls } from "../../base/text.ts";
import { type ProgramProcess, whenClosed } from "../os/child-program.ts";
import { codeOf } from "./code-of.ts";
import { type ConfinementTier, FRONT_CPU_SHARE, KERNEL_TIERS } from "./contract.ts";
import { startConfined } from "./start-confined.ts";

interface FrontStart {
  readonly program: string;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors of listeners, which it inherits from its fourth on: that of its link, and, over HTTP, that of its clients. */
  readonly listeners: readonly number[];
  readonly memoryMb: number;
  /** How many it may have at once, where it needs other than the usual number. */
  readonly descriptors?: number;
  /** Refuse to start unless the kernel holds everything. */
  readonly isRequired: boolean;
  /** Tiers to try, best first. */
  readonly tiers?: readonly ConfinementTier[];
  /** Receives the end of what a front wrote to stderr before it ended. */
  readonly onStderr: (text: string) => void;
}

const MAX_STDERR_CHARS = 2000;

/** Starts the front with no power but to read its own code and to ask the core. */
export const startFront = async (start: FrontStart): Promise<ProgramProcess & { readonly tier: string }> => {
  const { program, flags, env, listeners, memoryMb, descriptors, isRequired } = start;
  const { child, pid, kill, tier } = await startConfined(
    {
      program,
      code: codeOf(dirname(program)),
      stdio: ["pipe", "pipe", "pipe", ...listeners],
      env,
      limits: { memoryMb, cpuShare: FRONT_CPU_SHARE, ...(descriptors !== undefined && { descriptors }) },
      nodeFlags: flags,
    },
    { tiers: start.tiers ?? KERNEL_TIERS[process.platform] ?? [], isRequired },
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
