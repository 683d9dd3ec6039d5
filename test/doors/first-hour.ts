import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { atTerminal, when } from "./at-terminal.ts";

/** A new user's hour: what the first screen of the README says, and nothing else, up to the first answer of a client. */

const REPOSITORY = resolve(import.meta.dirname, "../..");
/** Lines of a terminal or a browser window before anybody scrolls. */
const FIRST_SCREEN = 30;

/** The commands of the README's first screen: with npm, and from a clone. */
export const firstScreen = (): { readonly npm: string; readonly clone: string } => {
  const screen = readFileSync(join(REPOSITORY, "README.md"), "utf8")
    .split("\n")
    .slice(0, FIRST_SCREEN)
    .join("\n");
  const [clone, npm] = [...screen.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  if (npm === undefined || clone === undefined) throw new Error("the first screen has lost its commands");
  return { npm, clone };
};

interface Hour {
  /** Milliseconds of the README's commands, with the answer to the question typed. */
  readonly connectMs: number;
  /** Milliseconds from the client's start to the tool list. */
  readonly listMs: number;
  /** Milliseconds until the first search is answered, which indexes the project. */
  readonly answerMs: number;
  readonly tools: readonly string[];
  readonly answer: string;
}

const PROJECT = {
  "src/session.ts":
    "/** Ends sessions that nobody uses. */\nexport const expireSessions = (now: number) => sessions.filter((one) => one.usedAt > now - 60_000);\n",
  "README.md": "# Shop\n\nA shop. Sessions end after a minute.\n",
};

export const makeProject = async (folder: string): Promise<void> => {
  await mkdir(join(folder, "src"), { recursive: true });
  for (const [name, text] of Object.entries(PROJECT)) writeFileSync(join(folder, name), text);
};

/** A clone of this repository, with the installed packages of the tester. */
export const makeClone = (folder: string): void => {
  execFileSync("git", ["clone", "--quiet", "--depth", "1", `file://${REPOSITORY}`, folder]);
  symlinkSync(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
};

/** Runs the commands in `folder`, which has `your-project` in it, then starts what was written, as Claude Code does. */
export const runHour = async (
  commands: string,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Hour> => {
  const startedAt = performance.now();
  const { shown, code } = await atTerminal(["sh", "-ec", commands], {
    cwd: folder,
    env,
    type: when("[y/N]", "y\n"),
  });
  if (code !== 0) throw new Error(`the commands ended with ${code}:\n${shown}`);
  const connectMs = performance.now() - startedAt;
  const project = join(folder, "your-project");
  const { mcpServers } = JSON.parse(readFileSync(join(project, ".mcp.json"), "utf8"));
  const client = new Client({ name: "first-hour", version: "1.0.0" });
  const spawnedAt = performance.now();
  await client.connect(
    new StdioClientTransport({
      ...mcpServers.llmc,
      cwd: project,
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
      stderr: "ignore",
    }),
  );
  try {
    const { tools } = await client.listTools();
    const listMs = performance.now() - spawnedAt;
    const result = await client.callTool({
      name: "rag_search",
      arguments: { query: "where do sessions expire" },
    });
    return {
      connectMs,
      listMs,
      answerMs: performance.now() - spawnedAt,
      tools: tools.map(({ name }) => name),
      answer: JSON.stringify(result.content),
    };
  } finally {
    await client.close();
  }
};
