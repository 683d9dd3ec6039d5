import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { sandboxes } from "../escapes/command-stand.ts";
import { commandTools } from "../escapes/command-tools.ts";
import { cleanEnv, createWorkspace } from "../workspace.ts";

const PLANT = (text: string): string =>
  `python3 -c 'import os; os.mkdir(".vscode"); open(".vscode/tasks.json", "w").write("${text}")'`;

const refusedIn = (root: string): readonly string[] =>
  readdirSync(root).filter((name) => /\.refused-[0-9a-f]{8}$/.test(name));

test("REQ-D16 FAIL-A1 what commands make is renamed and nothing else, even if it holds the same each time", async () => {
  const [setting] = sandboxes;
  if (setting === undefined) throw new Error("no sandbox");
  await using workspace = await createWorkspace({ a: "1\n" });
  const { root } = workspace;
  await using commands = commandTools(setting, root, {
    allowlist: ["python3"],
    powers: ["python3:run"],
    denylist: [],
    startup: [".vscode/"],
  });
  for (const _run of [1, 2, 3])
    expect(await commands.use("run_cmd", PLANT("one"))).toMatch(/\.vscode -> \.vscode\.refused-/);
  const names = refusedIn(root);
  expect(names).toHaveLength(3);
  for (const name of names) expect(readdirSync(join(root, name))).toEqual(["tasks.json"]);
  expect(existsSync(join(root, ".vscode"))).toBe(false);
});

test("REQ-D16 REQ-H2 llmc quarantine lists and removes them, and doctor counts them", async () => {
  const outside = tempWorkspace({ "kept.refused-0123abcd": "theirs\n" });
  await using workspace = await createWorkspace({
    "a.txt": "1\n",
    ".envrc.refused-01234567": "x\n",
    "sub/.vscode.refused-89abcdef/tasks.json": "{}\n",
    "sub/.vscode.refused-89abcdef/.git/config": "[core]\n",
    "notes.refused-me": "no such name\n",
  });
  const { root } = workspace;
  const home = tempWorkspace();
  const env = { ...cleanEnv(), HOME: home, XDG_STATE_HOME: join(home, "state") };
  const llmc = (...args: string[]) => runLlmc(root, args, { env });
  symlinkSync(outside, join(root, "link"));
  symlinkSync(outside, join(root, "link.refused-00000000"));
  const doctor = await llmc("doctor");
  expect(doctor.out).toContain(
    "3 names that commands made and llmc renamed are kept, such as .envrc.refused-01234567",
  );
  const listed = await llmc("quarantine");
  expect(listed.out.split("\n").slice(0, 3)).toEqual([
    ".envrc.refused-01234567",
    "link.refused-00000000",
    "sub/.vscode.refused-89abcdef",
  ]);
  expect(JSON.parse((await llmc("quarantine", "--json")).out)).toMatchObject({ complete: true });
  const unasked = await llmc("quarantine", "--remove");
  expect(unasked).toMatchObject({ err: expect.stringContaining("Nothing was removed") });
  expect(unasked.code).not.toBe(0);
  expect(refusedIn(root)).toHaveLength(2);
  expect(await llmc("quarantine", "--remove", "--yes")).toMatchObject({
    code: 0,
    out: expect.stringContaining("Removed 3 renamed names."),
  });
  expect(readdirSync(root).toSorted()).toEqual(["a.txt", "link", "notes.refused-me", "sub"]);
  expect(readdirSync(join(root, "sub"))).toEqual([]);
  expect(readdirSync(outside)).toEqual(["kept.refused-0123abcd"]);
  expect((await llmc("quarantine")).out).toBe("Nothing is in quarantine.\n");
  expect((await llmc("doctor")).out).not.toContain("quarantine");
});

test("REQ-D16 FAIL-A1 a folder that became a link since it was listed is not entered", async () => {
  const outside = tempWorkspace({ "x.refused-0123abcd": "theirs\n" });
  const root = tempWorkspace();
  mkdirSync(join(root, "sub"));
  writeFileSync(join(root, "sub/x.refused-0123abcd"), "");
  const { removeRefused } = await import("../../src/host/run/scan/refused-names.ts");
  symlinkSync(outside, join(root, "other"));
  await expect(removeRefused(root, join(root, "other/x.refused-0123abcd"))).rejects.toMatchObject({
    code: "ENOTDIR",
  });
  await removeRefused(root, join(root, "sub"));
  expect([readdirSync(outside), readdirSync(join(root, "sub"))]).toEqual([
    ["x.refused-0123abcd"],
    ["x.refused-0123abcd"],
  ]);
});

test("REQ-D16 FAIL-A1 llmc quarantine removes a name that is not UTF-8, in a folder of such a name, too", async () => {
  const root = tempWorkspace();
  const name = Buffer.from("x\xff.refused-0123abcd", "latin1");
  const folder = Buffer.concat([Buffer.from(`${root}/`), Buffer.from("d\xfe", "latin1")]);
  mkdirSync(folder);
  for (const above of [Buffer.from(root), folder])
    writeFileSync(Buffer.concat([above, Buffer.from("/"), name]), "x\n");
  const home = tempWorkspace();
  const env = { ...cleanEnv(), HOME: home, XDG_STATE_HOME: join(home, "state") };
  expect(await runLlmc(root, ["quarantine", "--remove", "--yes"], { env })).toMatchObject({
    code: 0,
    out: expect.stringContaining("Removed 2 renamed names."),
  });
  expect([readdirSync(root).length, readdirSync(folder)]).toEqual([1, []]);
});
