import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_TABLE } from "../../src/base/error-table.ts";
import { openTestApp } from "../app.ts";

const OVERRIDES = { "mcp.mode": "classic", "mcp.tools.run_cmd_allowlist": "ls,cat" };

/** Programs that every machine has, and that none has: the answer must not tell them apart. */
const UNLISTED = [
  "sh",
  "no-such-program-1",
  "/bin/sh",
  "/bin/no-such-program-1",
  "./sh",
  "./no-such-program-1",
];
/** Listed by name only: one of them is there. */
const ANOTHER = ["./ls", "./cat"];

test.each([
  ["an unlisted program", UNLISTED],
  ["another file of a listed name", ANOTHER],
])("FAIL-C6 REQ-X9: %s is refused in the same way by every tool, be it there or not", async (_, names) => {
  const app = await openTestApp({
    files: { sh: "#!/bin/sh\n", ls: "#!/bin/sh\necho evil\n" },
    overrides: OVERRIDES,
  });
  const ways: readonly (readonly [tool: string, argsFor: (word: string) => unknown])[] = [
    ["run_cmd", (word) => ({ command: `${word} -x` })],
    ["te_run", (word) => ({ command: `${word} -x` })],
    ["te_run", (word) => ({ args: [word, "-x"] })],
    ["te_run", (word) => ({ command: `te ${word} -x` })],
    ["linux_proc_start", (word) => ({ command: word })],
    ["linux_proc_start", (word) => ({ command: word, pty: true })],
  ];
  const answers = new Set<string>();
  /** Families of tools publish the one code under names of their own. */
  const codes = new Set<string>();
  for (const word of names) {
    for (const [tool, argsFor] of ways) {
      const result = await app.ask(tool, argsFor(word));
      if (result.kind !== "error") throw new Error(`${tool} ran ${word}`);
      const { correlation_id: _, error_code, ...meta } = result.body.meta;
      codes.add(error_code);
      const shown = JSON.stringify({ ...result.body, meta });
      answers.add(
        shown
          .replaceAll(/llmc allow \S+/g, "llmc allow WORD")
          .replaceAll(word, "WORD")
          .replaceAll(/\b(ls|cat) (that|alone)/g, "NAME $2")
          .replace("Did you mean ls? ", ""),
      );
    }
  }
  expect(codes).toEqual(new Set(["forbidden", ERROR_TABLE.forbidden.linux]));
  expect([...answers]).toHaveLength(1);
  expect(readdirSync(app.root).sort()).toContain("ls");
});

test("FAIL-C6: run_pytest does not tell either whether the machine has a runner that is not listed", async () => {
  const answers = [];
  for (const files of [
    { "package.json": '{"scripts":{"test":"node --test"}}' },
    { "go.mod": "module x\n" },
    { "Cargo.toml": "[package]\n" },
    { "conftest.py": "" },
  ]) {
    const app = await openTestApp({ files, overrides: OVERRIDES });
    const result = await app.ask("run_pytest", {});
    if (result.kind !== "error") throw new Error("it ran");
    answers.push(result.body.meta.error_code);
  }
  expect(new Set(answers)).toEqual(new Set(["forbidden"]));
});
