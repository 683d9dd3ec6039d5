import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { describe, expect, onTestFinished, test } from "vitest";
import { openTestApp } from "../app.ts";
import { isLong } from "../rounds.ts";
import { makeProject } from "./project.ts";

const readLines = (file: string): readonly string[] =>
  readFileSync(new URL(file, import.meta.url), "utf8")
    .split(/\n(?!\t)/)
    .map((entry) => entry.replaceAll("\n\t", "\n"))
    .filter((entry) => entry.trim() !== "" && !entry.startsWith("#"));

interface Ran {
  readonly stdout: string;
  readonly exit_code: number;
}

interface Outcome {
  readonly line: string;
  readonly kind: "same" | "different" | "refused";
  readonly detail: string;
}

/** What differs between any two runs, and where this machine shows through. */
const comparable = (text: string, root: string): string =>
  text
    .replaceAll(root, "ROOT")
    .replaceAll(/ {2,}/g, " ")
    .replaceAll(/ (root|user|nobody) (root|user|nogroup) /g, " OWNER ")
    .replaceAll(/\b[0-9a-f]{7,40}\b/g, "HASH")
    .replaceAll(/\d\d:\d\d(:\d\d)?/g, "TIME");

/** Where programs tell names in the order of the directory. */
const sorted = (text: string): string => text.split("\n").sort().join("\n");

const inBash = (line: string, cwd: string): Ran => {
  const env = {
    PATH: `/usr/local/bin:/usr/bin:/bin:${dirname(rgPath)}`,
    HOME: process.env["HOME"],
    LANG: "C.UTF-8",
    TERM: "dumb",
  };
  const { stdout, status, signal } = spawnSync("bash", ["-c", line], {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { stdout, exit_code: status ?? (signal === null ? -1 : 128) };
};

const compare = async (file: string): Promise<readonly Outcome[]> => {
  const app = await openTestApp({ config: '[mcp]\nmode = "classic"\n[mcp.tools]\nexec_timeout = 20\n' });
  const twin = realpathSync(mkdtempSync(join(tmpdir(), "llmc-twin-")));
  onTestFinished(() => rmSync(twin, { recursive: true, force: true }));
  const root = join(app.root, "project");
  mkdirSync(root);
  chmodSync(twin, 0o755);
  makeProject(root);
  makeProject(twin);
  const outcomes: Outcome[] = [];
  for (const entry of readLines(file)) {
    const line = entry.replace(/^@ /, "");
    const result = await app.ask("te_run", { command: line, cwd: "project", raw: true });
    if (result.kind !== "ok") {
      const detail = result.kind === "error" ? JSON.stringify(result.body) : "";
      outcomes.push({ line, kind: "refused", detail });
      continue;
    }
    const { data } = result.structured as { data: Ran };
    const bash = inBash(line, twin);
    // Marked lines show the sandbox itself.
    const isSame =
      entry !== line ||
      (sorted(comparable(data.stdout, root)) === sorted(comparable(bash.stdout, twin)) &&
        (data.exit_code === 0) === (bash.exit_code === 0));
    const detail = isSame ? "" : JSON.stringify({ ours: data, bash });
    outcomes.push({ line, kind: isSame ? "same" : "different", detail });
  }
  return outcomes;
};

/** A refusal shows a way out: who can allow it, or what to write instead. */
const hasWayOut = ({ detail }: Outcome): boolean =>
  /llmc allow |There is no shell here, and .* needs one|no program .* in the system's folders|allowed roots|cannot be set for a command|only git itself|Leave it out|has to run it in a terminal|Write the value itself/.test(
    detail,
  );

const report = (outcomes: readonly Outcome[]): string =>
  outcomes.map(({ kind, line, detail }) => `${kind}: ${line}\n    ${detail}`).join("\n");

describe("REQ-D23 command lines as agents write them", () => {
  test.each(["open.txt", "kept.txt", ...(isLong ? ["kept-2.txt"] : [])])(
    "%s: what runs does what bash does, what does not has a way out",
    async (file) => {
      const outcomes = await compare(file);
      expect(outcomes.length).toBeGreaterThanOrEqual(95);
      const good = outcomes.filter(
        (one) => one.kind === "same" || (one.kind === "refused" && hasWayOut(one)),
      );
      const bad = outcomes.filter((one) => !good.includes(one));
      expect(good.length / outcomes.length, report(bad)).toBeGreaterThanOrEqual(0.9);
      expect(report(outcomes.filter(({ kind }) => kind === "different"))).toBe("");
      // The set has no group in a pipeline and nothing that bash would not read.
      expect(report(outcomes.filter(({ detail }) => /cannot be read|group in a pipeline/.test(detail)))).toBe(
        "",
      );
    },
    180_000,
  );

  test("the message of a commit may come from a here-document, in a substitution or as input", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "classic"\n[mcp.tools]\ncommand_powers = ["git:write"]\n',
    });
    makeProject(app.root);
    const message = 'fix: it\'s the "parser" ($x)\n\n- one `thing`\n';
    const shown = { structured: { data: { stdout: `${message}\n`, exit_code: 0 } } };
    for (const commit of [
      `git commit --allow-empty -q -m "$(cat <<'EOF'\n${message}EOF\n)"`,
      `git commit --allow-empty -q -F - <<'EOF'\n${message}EOF`,
    ])
      expect(await app.ask("run_cmd", { command: `${commit}\ngit log -1 --format=%B` })).toMatchObject(shown);
  });
});
