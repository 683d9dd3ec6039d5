import type { ErrorCode } from "../base/error-table.ts";
import type { Finding } from "../cli/doctor-command.ts";
import type { CallResult } from "../core/call.ts";
import { EFFECTS } from "../core/contract.ts";
import { HOSTILE_SCRIPT } from "../host/attack/hostile-script.ts";
import {
  createPracticeWorkspace,
  type PracticeWorkspace,
  SECRET,
} from "../host/attack/practice-workspace.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { type AppRequest, createApp } from "./app.ts";
import { loadFor } from "./load.ts";

type Ask = (tool: string, args: Readonly<Record<string, unknown>>) => Promise<CallResult>;

/** What a client asks of the file tools, and must be refused or answered without the secret. */
const FILE_ATTACKS: readonly (readonly [
  name: string,
  tool: string,
  args: Readonly<Record<string, unknown>>,
])[] = [
  ["reads a path that climbs out", "read_file", { path: "../outside/secret.txt" }],
  ["reads through a link", "read_file", { path: "link" }],
  ["reads through a linked folder", "read_file", { path: "folder-link/secret.txt" }],
  ["reads a pipe", "read_file", { path: "fifo" }],
  ["reads a secret by name", "read_file", { path: ".env" }],
  ["searches for a secret", "linux_search_content", { root: ".", pattern: SECRET, no_ignore: true }],
  ["writes through a link", "linux_fs_write", { path: "dangling", content: "x" }],
  ["writes into a linked folder", "linux_fs_write", { path: "folder-link/victim.txt", content: "x" }],
  ["writes the configuration", "linux_fs_write", { path: "llmc.toml", content: "x" }],
  ["writes the state", "linux_fs_write", { path: ".llmc/x", content: "x" }],
  ["writes git's configuration", "linux_fs_write", { path: ".git/config", content: "x" }],
  ["makes a git hook", "linux_fs_write", { path: ".git/hooks/post-checkout", content: "x" }],
  ["makes a repository's HEAD", "linux_fs_write", { path: "bare/HEAD", content: "ref: refs/heads/x" }],
  ["removes the workspace", "linux_fs_delete", { path: ".", recursive: true }],
  ["runs a program that is not listed", "run_cmd", { command: "sh -c id" }],
];

const textOf = (result: CallResult): string =>
  result.kind === "ok"
    ? result.content.map((block) => (block.type === "text" ? block.text : "")).join("\n")
    : "";

/** Refusals of the rules that are tried. Any other error, such as a misspelt argument, says nothing about them. */
const REFUSALS: readonly ErrorCode[] = ["path_denied", "forbidden"];

const outcomeOf = (tool: string, result: CallResult): Pick<Finding, "state" | "detail"> => {
  if (result.kind === "error" && !REFUSALS.includes(result.error.code))
    return { state: "weak", detail: `could not be tried: ${result.error.message}` };
  const isHeld =
    result.kind === "error" || (tool === "linux_search_content" && !textOf(result).includes(SECRET));
  return isHeld ? { state: "good", detail: "held" } : { state: "bad", detail: "NOT HELD" };
};

const attackFiles = async (ask: Ask): Promise<readonly Finding[]> => {
  const findings: Finding[] = [];
  for (const [name, tool, args] of FILE_ATTACKS) {
    const result = await ask(tool, args);
    findings.push({ name: `a client ${name}`, ...outcomeOf(tool, result) });
  }
  return findings;
};

const succeededIn = (output: string): readonly string[] | undefined => {
  const line = output.split("\n").find((each) => each.startsWith("["));
  return line === undefined ? undefined : (JSON.parse(line) as string[]);
};

const attackByCommand = async (ask: Ask, practice: PracticeWorkspace): Promise<readonly Finding[]> => {
  practice.arm(HOSTILE_SCRIPT, process.pid);
  const command = `'${process.execPath}' hostile.cjs`;
  const result = await ask("te_run", { command, raw: true });
  const succeeded = succeededIn(textOf(result));
  if (succeeded === undefined) {
    const detail = result.kind === "error" ? result.error.message : "the program said nothing";
    return [{ name: "a hostile program", state: "weak", detail: `could not be tried: ${detail}` }];
  }
  return [
    {
      name: "a hostile program in the sandbox",
      state: succeeded.length === 0 ? "good" : "bad",
      detail:
        succeeded.length === 0
          ? "all of its attempts were stopped"
          : `NOT STOPPED: it ${succeeded.join(", ")}`,
    },
  ];
};

/** A short, harmless form of the escape tests, on this machine, with its own sandbox and a workspace made for it. */
export const attack = async (request: AppRequest): Promise<readonly Finding[]> => {
  const { config } = await loadFor(request);
  const practice = await createPracticeWorkspace();
  const app = await createApp({
    root: practice.root,
    cwd: practice.root,
    overrides: {
      "mcp.mode": "classic",
      "mcp.logging.level": "silent",
      "mcp.tools.run_cmd_allowlist": [process.execPath],
      "mcp.tools.command_sandbox": config.mcp.tools.command_sandbox,
    },
    env: {},
    folders: { home: practice.home, config: `${practice.home}/config`, state: `${practice.home}/state` },
    stderr: request.stderr,
    watch: false,
  });
  const ask: Ask = (tool, args) =>
    app.core.call({
      tool,
      args,
      correlationId: newId(),
      caller: {
        agentId: "doctor",
        sessionId: "doctor",
        model: "none",
        transport: "cli",
        principal: "local",
        owner: "doctor",
        may: new Set<string>(EFFECTS),
      },
    });
  try {
    const tier = await (await app.engines()).tier();
    const findings = [...(await attackFiles(ask)), ...(await attackByCommand(ask, practice))];
    const broken = practice.broken();
    return [
      ...findings,
      {
        name: "state of the disk",
        state: broken.length === 0 ? "good" : "bad",
        detail: broken.length === 0 ? "nothing was planted or changed" : `NOT STOPPED: ${broken.join(", ")}`,
        ...(tier === "plain" ? { fix: "no sandbox works here: `llmc doctor` says what is missing" } : {}),
      },
    ];
  } finally {
    await app.close();
    await practice.remove();
  }
};
