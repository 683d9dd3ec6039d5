import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createWorkspace, type Workspace } from "../workspace.ts";
import { plantAround, SECRET } from "./command-plant.ts";
import type { Setting } from "./command-stand.ts";
import { commandTools, type ToolName } from "./command-tools.ts";

const ATTACKER = await readFile(join(import.meta.dirname, "command-attacks.py"), "utf8");
/** Everything that a hostile program tries, from the workspace's folder. */
export const ATTACK = "python3 attack.py";

const POWERS = ["python3", "sh", "git", "node", "make"].flatMap((program) =>
  ["run", "write", "read", "network", "config"].map((power) => `${program}:${power}`),
);

/** How an allowed program comes to run the attacks. */
export interface Way {
  readonly name: string;
  readonly tool: ToolName;
  readonly line: string;
  /** What a tool wrote before, or a stranger's repository brought along. */
  readonly plant?: (workspace: Workspace) => Promise<void> | void;
  /** It may be refused, or be held so well that no attack can report. */
  readonly isHeldBefore?: boolean;
  /** The program between hands pipes of its own on. */
  readonly passesPipes?: boolean;
}

export const INTERPRETER: Way = { name: "an interpreter", tool: "run_cmd", line: ATTACK };

export interface Attacked {
  /** All that a model would see. */
  readonly seen: string;
  readonly tried: readonly string[];
  readonly succeeded: readonly (readonly [attack: string, result: string])[];
  /** What was reached, seen from the other side. */
  readonly traces: readonly string[];
  readonly config: string;
}

/** Plants what is worth reaching, lets the attacks loose, and tells what came of them. */
export const attack = async (
  setting: Setting,
  { tool, line, plant, isHeldBefore }: Way,
): Promise<Attacked> => {
  await using around = await plantAround();
  await using workspace = await createWorkspace({
    "attack.py": ATTACKER,
    "attack.json": JSON.stringify(around.plan),
    "out/result.json": "{}",
    ".llmc/planted": SECRET,
    "llmc.toml": "# config\n",
    "file.txt": "text\n",
    "sub/.env": SECRET,
  });
  await plant?.(workspace);
  await using tools = commandTools(setting, workspace.root, {
    allowlist: ["python3", "sh", "git", "make", process.execPath],
    powers: POWERS,
    denylist: ["**/.env"],
  });
  const seen = await tools.use(tool, line).catch((thrown: unknown) => {
    if (isHeldBefore !== true) throw thrown;
    return String(thrown);
  });
  const results = JSON.parse(await workspace.read("out/result.json")) as Readonly<Record<string, string>>;
  return {
    seen,
    tried: Object.keys(results),
    succeeded: Object.entries(results).filter(([, result]) => result !== "refused"),
    traces: await around.traces(),
    config: await workspace.read("llmc.toml"),
  };
};
