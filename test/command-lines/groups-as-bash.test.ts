import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { openTestApp } from "../app.ts";
import { isLong, rounds } from "../rounds.ts";

const COMMANDS = [
  "cat f",
  "cat",
  "wc -l",
  "grep b",
  "grep -c a f",
  "head -n 1",
  "sort -r",
  "echo a",
  "echo $X; pwd",
  "printf 'b\\nc\\n'",
  "cat nope",
  "cd d",
  "cd d && ls",
  "X=2",
  "export X=3",
  "exit 3",
  "true",
  "false",
  "cat h <<E\n1\n2\nE\n",
  "cat <<< $X",
];

const command = fc.tuple(
  fc.constantFrom(...COMMANDS),
  fc.constantFrom("", "", "", " 2>&1", " 2>/dev/null", " >&2"),
);
const text = command.map(([program, redirection]) =>
  program.endsWith("\n") || program.includes(";") || program.includes("&&") ? program : program + redirection,
);

/** Whether a here-document ended the line or not, the next command is on a line of its own. */
const { line } = fc.letrec<{ line: string; part: string; group: string }>((tie) => ({
  group: fc
    .tuple(
      fc.boolean(),
      tie("line"),
      fc.constantFrom("", "", " 2>&1", " > o1", " >> o2", " <<< t", " &> /dev/null"),
    )
    .map(([isSubshell, inner, redirection]) =>
      isSubshell ? `( ${inner}\n)${redirection}` : `{ ${inner}\n}${redirection}`,
    ),
  part: fc.oneof(
    { maxDepth: 2, depthSize: "small" },
    { weight: 2, arbitrary: text },
    { weight: 2, arbitrary: tie("group") },
  ),
  line: fc
    .array(fc.tuple(tie("part"), fc.constantFrom(" | ", " | ", " && ", " || ", "; ", " |& ")), {
      minLength: 1,
      maxLength: 3,
    })
    .map((steps) =>
      steps
        .map(([one, joint], at) => {
          if (at === steps.length - 1) return one;
          return one.endsWith("\n") ? one : one + joint;
        })
        .join(""),
    ),
}));

/** Where this machine shows through. */
const neutral = (text: string, root: string): string => text.replaceAll(root, "ROOT");

const treeOf = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => !name.startsWith(".llmc") && statSync(join(folder, name)).isFile())
      .sort()
      .map((name) => [name, neutral(readFileSync(join(folder, name), "utf8"), folder)]),
  );

const fill = (folder: string): void => {
  for (const name of readdirSync(folder))
    if (!name.startsWith(".")) rmSync(join(folder, name), { recursive: true, force: true });
  mkdirSync(join(folder, "d"));
  writeFileSync(join(folder, "f"), "a\nb\nab\n");
  writeFileSync(join(folder, "d/in-d"), "");
};

interface Seen {
  readonly stdout: string;
  readonly exit: number;
  readonly files: Readonly<Record<string, string>>;
}

const stand = async () => {
  const app = await openTestApp({ config: '[mcp]\nmode = "classic"\n[mcp.tools]\nexec_timeout = 20\n' });
  const twin = realpathSync(mkdtempSync(join(tmpdir(), "llmc-groups-")));
  onTestFinished(() => rmSync(twin, { recursive: true, force: true }));
  const ours = join(app.root, "project");
  mkdirSync(ours);
  const here = async (command: string): Promise<Seen | string> => {
    fill(ours);
    const result = await app.ask("te_run", { command, cwd: "project", raw: true });
    if (result.kind !== "ok") return result.kind === "error" ? JSON.stringify(result.body) : result.kind;
    const { data } = result.structured as { data: { stdout: string; exit_code: number } };
    return { stdout: neutral(data.stdout, ours), exit: data.exit_code, files: treeOf(ours) };
  };
  const inBash = (command: string): Seen => {
    fill(twin);
    const { stdout, status } = spawnSync("bash", ["-c", command], {
      cwd: twin,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    return { stdout: neutral(stdout, twin), exit: status ?? -1, files: treeOf(twin) };
  };
  return { here, inBash };
};

describe("REQ-D23 groups", () => {
  test("do what bash does with them in a pipeline and with redirections", async () => {
    const { here, inBash } = await stand();
    for (const command of [
      "{ echo a; echo b; } | wc -l",
      "X=2 |& cat",
      "(cat nope 2>&1 || true) | tail -3",
      "(cd d && ls) | cat; pwd",
      "{ cd d; pwd; } > out; pwd; cat ../out",
      "(cd d; pwd) > out; pwd; cat out",
      "X=1; { X=2; echo $X; } | cat; echo $X",
      "X=1; { X=2; } > /dev/null; echo $X",
      "cat f | { head -n 1; cat; }",
      "{ head -n 1; cat; } <<E\n1\n2\nE\n",
      "{ echo out; echo err >&2; } 2>&1 | sort",
      "{ echo out; cat nope; } > both 2>&1; wc -l < both",
      "{ echo a; exit 4; echo b; } | cat; echo $?",
      "echo x | (exit 5); echo $?",
      "! { false; } | false && echo yes",
      "{ echo a; { echo b; (echo c) | cat; } | sort -r; } | grep -n .",
      "{ echo 1; } >> log; { echo 2; } >> log; cat log",
      "{ { echo a; } }",
      "(echo a) |& cat",
      "printf 'b\\na\\n' | (sort) | { cat; } | wc -l",
    ])
      expect(await here(command), command).toEqual(inBash(command));
    expect(await here("{ echo a > o; } > o")).toContain("one file by two redirections");
  }, 120_000);

  test("FAIL-C1 every command in them is judged before any of the line runs", async () => {
    const { here } = await stand();
    expect(await here("echo a > made; { true; touch x; } | cat")).toContain("not among the programs");
    expect(await here("{ echo a > made; } | (cat; cat ../../../etc/passwd > ~/x)")).toMatch(
      /path_denied|outside/,
    );
    expect(await here("ls; { ls; } > .git/hooks/pre-commit")).toContain("error");
    expect(await here("ls")).toMatchObject({ stdout: "d\nf\n" });
  });

  test("random ones as bash runs them, or refused", async () => {
    const { here, inBash } = await stand();
    const seed = isLong ? Date.now() % 2 ** 31 : 20_261_117;
    const differing: unknown[] = [];
    let ran = 0;
    const commands = fc.sample(line, { numRuns: rounds(60, 600), seed }).map((one) => `X=1; ${one}`);
    for (const command of commands) {
      const ours = await here(command);
      if (typeof ours === "string") continue;
      ran++;
      const bash = inBash(command);
      if (JSON.stringify(ours) !== JSON.stringify(bash)) differing.push({ command, ours, bash });
    }
    expect(differing.slice(0, 5), `seed ${seed}: ${differing.length} of ${ran} differ`).toEqual([]);
    expect(ran / commands.length).toBeGreaterThan(0.5);
  }, 300_000);
});
