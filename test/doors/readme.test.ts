import { execFile } from "node:child_process";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { cleanEnv } from "../workspace.ts";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

/** The commands of a section, as they are printed. */
const commandsOf = (heading: string): string => {
  const section = readme.slice(readme.indexOf(`\n## ${heading}\n`));
  return /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
};

describe("REQ-P1: blocks of the README paste as they are", () => {
  // The blocks of "Over HTTP" are run by http-guide.test.ts, those of the first screen by first-hour.test.ts.
  test("First call: every line runs, in a folder as this one", async () => {
    const folder = tempWorkspace({
      "README.md": "# Demo\n\nPaths are checked in src/paths.ts.\n",
      "src/paths.ts":
        "/** Paths are checked here. */\nexport const defineTool = (path: string) => path;\ndefineTool('a');\n",
    });
    symlinkSync(join(ROOT, "bin"), join(folder, "bin"));
    await run("git", ["init", "--quiet"], { cwd: folder });
    await run(
      "git",
      ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "first"],
      { cwd: folder },
    );
    const commands = commandsOf("First call");
    const lines = commands.trim().split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(7);
    const marked = lines.map((line) => `${line}\necho "=== $?"`).join("\n");
    const { stdout } = await run("sh", ["-c", marked], { cwd: folder, env: { ...cleanEnv(), HOME: folder } });
    const answers = stdout.split(/=== /).slice(0, -1);
    expect(stdout.match(/=== \d+/g)).toEqual(lines.map(() => "=== 0"));
    for (const [at, text] of [
      "README.md",
      "# Demo",
      "src/paths.ts",
      "first",
      "src/paths.ts#L",
      "defined: defineTool",
      "first",
    ].entries())
      expect(answers[at]).toContain(text);
  });

  test("Over HTTP: the question of the example is answered by the page that it is about", async () => {
    const folder = tempWorkspace();
    for (const part of ["README.md", "docs/guides", "src"])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    const question = /"q": "([^"]+)"/.exec(readme)?.[1] ?? "";
    const { out } = await runLlmc(folder, ["search", "-k", "3", question], { env: { HOME: folder } });
    const [first = ""] = out.split("\n").filter((line) => /^\S+#L\d+/.test(line));
    expect(first).toMatch(/^docs\/guides\/connect\.md#L\d+-L\d+$/);
  });

  test("Two commands: the scripts exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    for (const [, name = ""] of commandsOf("Two commands").matchAll(/^npm (\w+)/gm))
      expect(scripts).toHaveProperty(name);
  });

  test("In a container: the variables are those of compose.yaml, and the file is there", () => {
    const commands = commandsOf("In a container");
    const compose = readFileSync(join(ROOT, /-f (\S+)/.exec(commands)?.[1] ?? ""), "utf8");
    const variables = [...commands.matchAll(/([A-Z_]+)=/g)].map(([, name = ""]) => name);
    expect(variables).toEqual(["LLMC_MCP_TOKEN", "HOST_REPO", "LLMC_UID", "LLMC_GID"]);
    for (const name of [...variables, "HOST_REPO_READ_ONLY"]) expect(compose).toContain(`\${${name}`);
  });

  test("what it is, for whom, and how to begin are on the first screen", () => {
    const screen = readme.split("\n").slice(0, 35).join("\n");
    for (const text of [
      "for developers whose agents",
      "In your project, run",
      "before:",
      "after:",
      "macOS",
      "Windows",
    ])
      expect(screen).toContain(text);
  });
});
