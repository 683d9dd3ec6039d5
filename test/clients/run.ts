/**
 * `npm run clients`: connects the real programs that npm has, and asks each by its own commands what it read. They are large
 * (1.5 GB), so this is not a part of `npm test`; the last results are in docs/clients.md, which `--write` renews.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const LAUNCHER = join(ROOT, "bin/llmc");
const PROGRAMS = process.env["LLMC_CLIENTS"] ?? join(import.meta.dirname, ".programs");

interface Case {
  readonly client: string;
  readonly scope: "project" | "user";
  readonly npm: string;
  readonly bin: string;
  readonly asks: readonly string[];
  readonly answer: RegExp;
  /** Whether the question starts the server, whose folder is then known. */
  readonly starts: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const CASES: readonly Case[] = [
  {
    client: "claude-code",
    scope: "project",
    npm: "@anthropic-ai/claude-code",
    bin: "claude",
    asks: ["mcp", "list"],
    answer: /llmc: .*serve --stdio - .*Pending approval/,
    starts: false,
  },
  {
    client: "claude-code",
    scope: "user",
    npm: "@anthropic-ai/claude-code",
    bin: "claude",
    asks: ["mcp", "list"],
    answer: /llmc: .*serve --stdio - .*Connected/,
    starts: true,
  },
  {
    client: "codex",
    scope: "user",
    npm: "@openai/codex",
    bin: "codex",
    asks: ["mcp", "get", "llmc", "--json"],
    answer: /"enabled": true,[\s\S]*"serve",\s*"--stdio"\s*\]/,
    starts: false,
  },
  {
    client: "opencode",
    scope: "project",
    npm: "opencode-ai",
    bin: "opencode",
    asks: ["mcp", "list"],
    answer: /llmc .*connected/,
    starts: true,
  },
  {
    client: "opencode",
    scope: "user",
    npm: "opencode-ai",
    bin: "opencode",
    asks: ["mcp", "list"],
    answer: /llmc .*connected/,
    starts: true,
  },
  {
    client: "gemini",
    scope: "project",
    npm: "@google/gemini-cli",
    bin: "gemini",
    asks: ["mcp", "list"],
    answer: /llmc: .*- Connected/,
    starts: true,
    env: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
  },
  {
    client: "gemini",
    scope: "user",
    npm: "@google/gemini-cli",
    bin: "gemini",
    asks: ["mcp", "list"],
    answer: /llmc: .*- Connected/,
    starts: true,
    env: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
  },
  {
    client: "cline",
    scope: "user",
    npm: "cline",
    bin: "cline",
    asks: ["mcp", "remove", "llmc"],
    answer: /Uninstalled MCP server llmc/,
    starts: false,
  },
];

const fetchPrograms = (): void => {
  const packages = [...new Set(CASES.map(({ npm }) => npm))];
  if (packages.every((name) => existsSync(join(PROGRAMS, "node_modules", name)))) return;
  mkdirSync(PROGRAMS, { recursive: true });
  writeFileSync(join(PROGRAMS, "package.json"), "{}\n");
  const { status } = spawnSync(
    "npm",
    ["install", "--no-audit", "--no-fund", "--loglevel=error", ...packages],
    { cwd: PROGRAMS, stdio: "inherit" },
  );
  if (status !== 0) throw new Error("the clients could not be fetched");
};

const versionOf = (npm: string): string =>
  String(JSON.parse(readFileSync(join(PROGRAMS, "node_modules", npm, "package.json"), "utf8")).version);

/** A Node that writes down where it was started, in front of the one that runs the server. */
const writeSpy = (home: string): string => {
  const spy = join(home, "spy-node");
  writeFileSync(spy, `#!/bin/sh\npwd >> '${home}/started-in'\nexec '${process.execPath}' "$@"\n`);
  chmodSync(spy, 0o755);
  return spy;
};

const tryClient = ({ client, scope, bin, asks, answer, starts, env }: Case): string => {
  const home = mkdtempSync(join(tmpdir(), "llmc-client-"));
  const project = join(home, "project");
  mkdirSync(project);
  const run = (program: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { stdout, stderr } = spawnSync(program, args, {
      cwd: project,
      env: { PATH: process.env["PATH"], HOME: home, TERM: "dumb", ...more },
      encoding: "utf8",
      timeout: 120_000,
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them.
    return `${stdout}${stderr}`.replace(/\u001b\[[\d;]*m/g, "");
  };
  try {
    run(LAUNCHER, ["connect", client, "--scope", scope, "--yes"]);
    const output = run(join(PROGRAMS, "node_modules/.bin", bin), asks, { ...env, LLMC_NODE: writeSpy(home) });
    if (!answer.test(output)) return `FAILED: ${output.slice(-300)}`;
    if (!starts) return "reads the entry";
    const folder = existsSync(join(home, "started-in"))
      ? readFileSync(join(home, "started-in"), "utf8").split("\n")[0]
      : "nowhere";
    return folder === project
      ? "reads the entry, starts the server in the project's folder, connects"
      : `FAILED: started in ${folder}`;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
};

const page = (rows: readonly string[]): string => `# Clients

What \`llmc connect\` wrote, read by the client itself: by the programs that npm has, with their own commands
(\`npm run clients -- --write\` renews this page).

| client | scope | version | \`connect\`, then its own command | result |
| --- | --- | --- | --- | --- |
${rows.join("\n")}

Claude Desktop, Cursor, VS Code, Zed, Windsurf and JetBrains are not on npm: their entries are tested against the documented
formats, and each is started as the client would start it (\`test/doors/connect.test.ts\`).
`;

fetchPrograms();
const rows: string[] = [];
for (const one of CASES) {
  const result = tryClient(one);
  process.stdout.write(`${one.client} (${one.scope}): ${result}\n`);
  if (result.startsWith("FAILED")) process.exitCode = 1;
  rows.push(
    `| ${one.client} | ${one.scope} | ${versionOf(one.npm)} | \`${[one.bin, ...one.asks].join(" ")}\` | ${result} |`,
  );
}
if (process.argv.includes("--write") && process.exitCode !== 1)
  writeFileSync(join(ROOT, "docs/clients.md"), page(rows));
