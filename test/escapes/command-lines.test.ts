import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rounds } from "../rounds.ts";
import { createWorkspace } from "../workspace.ts";
import { GIT, ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const POWERS = { powers: ["python3:run"], denylist: ["**/.env"], startup: [".vscode/"] };

const openDescriptors = (): readonly string[] => readdirSync("/proc/self/fd");

const SETTLED_MS = 10_000;

describe.each(ofThisKernel)("REQ-D23 command lines in $name", (setting) => {
  test("FAIL-J1 FAIL-J3 an input redirection opens nothing for writing", async () => {
    await using workspace = await createWorkspace({
      "a.txt": "hi\n",
      "w.py": `
import os
for path in ("/proc/self/fd/0", "/dev/stdin"):
    try: open(path, "r+b", buffering=0).write(b"planted")
    except OSError: pass
for change in (lambda: os.truncate(0, 0), lambda: os.fchmod(0, 0o755), lambda: os.write(0, b"planted")):
    try: change()
    except OSError: pass
`,
    });
    execFileSync(GIT, ["init", "-q", "."], { cwd: workspace.root });
    await workspace.write(".vscode/tasks.json", "{}\n");
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["python3", "cp", "cat"],
      ...POWERS,
    });
    const config = readFileSync(join(workspace.root, ".git/config"), "utf8");
    for (const target of [".git/config", ".vscode/tasks.json", "a.txt"]) {
      await commands.use("run_cmd", `python3 w.py < ${target}`);
      await commands.use("run_cmd", `cp w.py /dev/stdin < ${target}`).catch(() => "refused");
      expect(await commands.use("run_cmd", `cat < ${target}`)).toContain('"exit_code":0');
    }
    expect(readFileSync(join(workspace.root, ".git/config"), "utf8")).toBe(config);
    expect(readFileSync(join(workspace.root, ".vscode/tasks.json"), "utf8")).toBe("{}\n");
    expect(readFileSync(join(workspace.root, "a.txt"), "utf8")).toBe("hi\n");
  });

  test("FAIL-J6 a refused part of a pipeline leaves nothing running, open or closed twice", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hi\n" });
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["cp", "cat", "wc"],
      ...POWERS,
    });
    await commands.use("run_cmd", "cat a.txt | wc -l");
    const before = openDescriptors().length;
    const line = (command: string): Promise<string> =>
      commands.use("run_cmd", command).then(
        () => "ran",
        () => "refused",
      );
    const long = `A=${"a".repeat(1000)}; B=${"$A".repeat(10)}; C=${"$B".repeat(10)}; echo $C$C |& wc -c`;
    for (let round = 0; round < rounds(1, 3); round++) {
      const answers = await Promise.all([
        line("cd /etc | cat"),
        line("cd /etc | cp a.txt planted.txt"),
        line("cat a.txt | cd /etc"),
        line("cat a.txt | rm x"),
        line("echo hello |& cat"),
        line("echo hello 2>&1 | cat | true"),
        commands.use("run_cmd", long).then((seen) => (seen.includes("200001") ? "ran" : seen)),
      ]);
      expect(answers).toEqual(["refused", "refused", "refused", "refused", "ran", "ran", "ran"]);
    }
    await expect.poll(() => openDescriptors().length, { timeout: SETTLED_MS }).toBeLessThanOrEqual(before);
    expect(existsSync(join(workspace.root, "planted.txt"))).toBe(false);
  });
});

describe("REQ-D23 FAIL-J6 command lines are bounded", () => {
  test("bytes stay bytes, large output is refused, and no temporary file is left", async () => {
    const [setting] = ofThisKernel;
    if (setting === undefined) throw new Error("no tier");
    await using workspace = await createWorkspace({ "z.txt": "z" });
    writeFileSync(join(workspace.root, "bin.dat"), Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x61]));
    await using commands = commandTools(setting, workspace.root, {
      allowlist: ["cat", "head", "ls"],
      ...POWERS,
    });
    await commands.use("run_cmd", "cat bin.dat >> out.dat; cat bin.dat >> out.dat; cat < bin.dat > copy.dat");
    expect(readFileSync(join(workspace.root, "out.dat")).toString("hex")).toBe("fffe008061fffe008061");
    expect(readFileSync(join(workspace.root, "copy.dat")).toString("hex")).toBe("fffe008061");
    expect(await commands.use("run_cmd", "head -c 200000000 /dev/zero > large.dat")).toContain(
      "is larger than 64 MB and was not written",
    );
    expect(existsSync(join(workspace.root, "large.dat"))).toBe(false);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("llmc-output-"))).toEqual([]);
    await expect(commands.use("run_cmd", `ls ${"* ".repeat(5000)}`)).rejects.toMatchObject({
      code: "invalid_args",
    });
  });
});
