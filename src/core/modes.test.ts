import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, tempWorkspace } from "../../test/app.ts";
import { nameBriefly } from "../policy/program-names.ts";
import { instructionsFor } from "./instructions.ts";
import { MODES } from "./options.ts";

const namesOf = (tools: readonly { readonly name: string }[]): string[] =>
  tools.map(({ name }) => name).toSorted();

/** What the instructions write as code that is no tool: fields of arguments and results. */
const FIELDS = ["offset", "hits", "data"];

describe("modes", () => {
  test("REQ-D5 REQ-M1: no file is hybrid, a file without a mode is classic, a named mode wins", async () => {
    expect((await openTestApp()).core.settings().mode).toBe("hybrid");
    expect((await openTestApp({ config: "[mcp]\n" })).core.settings().mode).toBe("classic");
    expect((await openTestApp({ config: '[mcp]\nmode = "code_execution"\n' })).core.settings().mode).toBe(
      "code_execution",
    );
  });

  test("REQ-M2 REQ-M4: hybrid lists what is promoted; names with nothing behind them are warned about and left out", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "hybrid"\n[mcp.hybrid]\npromoted_tools = ["stat", "ghost_tool"]\n',
    });
    expect(namesOf(app.core.listTools())).toEqual([
      "00_INIT",
      "execute_code",
      "list_dir",
      "read_file",
      "stat",
    ]);
    const warning = (await app.logs()).split("\n").find((line) => line.includes("left out"));
    expect(warning).toContain("ghost_tool");
    expect(warning).toContain('"level":"warn"');
    expect(await app.errorCode("ghost_tool")).toBe("unknown_tool");
  });

  test("REQ-D23 REQ-M2: a refusal names the programs of this machine that are allowed, in every mode", async () => {
    for (const mode of ["hybrid", "classic"]) {
      const app = await openTestApp({
        overrides: { "mcp.mode": mode, "mcp.tools.run_cmd_allowlist": "ls,stat,no-such-program" },
      });
      const result = await app.ask("run_cmd", { command: "jq . a" });
      expect(result).toMatchObject({
        kind: "error",
        error: {
          hint: expect.stringMatching(
            /^Allowed programs: ls stat\. If it is installed, the operator can allow it: /,
          ),
        },
      });
    }
  });

  test("REQ-M3: who may not run rm, mv, cp or mkdir is told the tool, or the key that offers it", async () => {
    const tools = {
      rm: "linux_fs_delete",
      mv: "linux_fs_move",
      cp: "linux_fs_copy",
      mkdir: "linux_fs_mkdirs",
    };
    for (const mode of ["hybrid", "classic"]) {
      const app = await openTestApp({ overrides: { "mcp.mode": mode } });
      for (const [program, tool] of Object.entries(tools)) {
        const result = await app.ask("run_cmd", { command: `${program} a b` });
        const hint = result.kind === "error" ? (result.error.hint ?? "") : "";
        expect(hint, `${program} in ${mode}`).toContain(
          mode === "classic" ? `with ${tool}.` : `offer ${tool} for that: mcp.hybrid.promoted_tools.`,
        );
        expect(hint.includes("promoted_tools"), `${program} in ${mode}`).toBe(mode === "hybrid");
      }
    }
  });

  test("REQ-D21 REQ-M2 REQ-M6: hybrid searches by default; the instructions say how, what may run, and how to read on", async () => {
    const { core } = await openTestApp();
    expect(namesOf(core.listTools())).toEqual([
      "00_INIT",
      "execute_code",
      "linux_fs_edit",
      "linux_fs_write",
      "list_dir",
      "rag_search",
      "read_file",
      "run_cmd",
    ]);
    const text = core.instructions();
    expect(text).toContain("with `rag_search`, by meaning or by name");
    expect(text).toMatch(
      /Allowed programs: ls cat head tail wc stat( file)? find grep rg sort uniq diff( tree)? git( pytest)?\./,
    );
    expect(text).toContain("read on with `read_file`, path handle:ID");
  });

  test("REQ-M6: the instructions name programs briefly, in any number", async () => {
    const allowed = (names: readonly string[]) =>
      openTestApp({ overrides: { "mcp.tools.run_cmd_allowlist": JSON.stringify(names) } });
    const folder = tempWorkspace();
    const many = Array.from({ length: 30 }, (_, at) => join(folder, `p${at}`));
    for (const path of many) writeFileSync(path, "#!/bin/sh\n", { mode: 0o755 });
    const absent = await allowed(["ls", "no-such-program", "/opt/none/tool"]);
    expect(absent.core.instructions()).toContain("Allowed programs: ls.");
    expect((await allowed(many)).core.instructions()).toContain(" p28 p29 and 6 more.");
    expect((await allowed([])).core.instructions()).toContain("No program is allowed yet.");
    const disabled = await openTestApp({ overrides: { "mcp.tools.enable_run_cmd": "false" } });
    expect(disabled.core.instructions()).not.toContain("programs");
  });

  test("REQ-M2: where no program can run, the instructions of code_execution mode say so", () => {
    expect(instructionsFor("code_execution", [], [])).toMatch(/no programs: they run on Linux only/);
  });

  test("REQ-M1 REQ-M2: code_execution lists five tools; hybrid leaves execute_code out when told to", async () => {
    const five = await openTestApp({ overrides: { "mcp.mode": "code_execution" } });
    expect(namesOf(five.core.listTools())).toEqual([
      "00_INIT",
      "execute_code",
      "list_dir",
      "read_file",
      "search_tools",
    ]);
    const without = await openTestApp({ overrides: { "mcp.hybrid.include_execute_code": "false" } });
    expect(namesOf(without.core.listTools())).not.toContain("execute_code");
    expect(await without.errorCode("execute_code", { language: "javascript", code: "1" })).toBe(
      "unknown_tool",
    );
  });

  test("REQ-M5: a tool list over its budget is warned about", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "hybrid"\n[mcp.hybrid]\nbootstrap_budget_warning = 10\n',
    });
    expect(await app.logs()).toContain("bootstrap_budget_warning");
    expect(await (await openTestApp()).logs()).not.toContain("over mcp.hybrid.bootstrap_budget_warning");
  });

  test.each(MODES)(
    "REQ-M6 FAIL-D1: in %s mode, what is listed is what the instructions name",
    async (mode) => {
      const app = await openTestApp({ overrides: { "mcp.mode": mode } });
      const line = app.core
        .instructions()
        .split("\n")
        .find((candidate) => candidate.startsWith("Tools: "));
      expect(line?.replace("Tools: ", "").replace(/\.$/, "").split(", ").toSorted()).toEqual(
        namesOf(app.core.listTools()),
      );
      const mentioned =
        app.core
          .instructions()
          .match(/`([a-z_]+)`/g)
          ?.map((name) => name.replaceAll("`", "")) ?? [];
      const known = new Set([...namesOf(app.core.listTools()), ...FIELDS]);
      expect(mentioned.filter((name) => !known.has(name))).toEqual([]);
    },
  );

  test("REQ-D1: a dotted name calls the same tool", async () => {
    const app = await openTestApp({ files: { "a.txt": "hello" } });
    expect(await app.text("read.file", { path: "a.txt" })).toBe("hello");
  });

  test("REQ-M8 REQ-C5: an edit of the mode changes the list and tells listeners; a bad edit changes nothing", async () => {
    const app = await openTestApp({ config: '[mcp]\nmode = "hybrid"\n', watch: true });
    const changes: string[] = [];
    app.core.onListChanged((kind) => changes.push(kind));
    const file = join(app.root, "llmc.toml");
    writeFileSync(file, '[mcp]\nmode = "classic"\n');
    await expect.poll(() => changes, { timeout: 5000 }).toEqual(["tools"]);
    expect(namesOf(app.core.listTools())).toContain("stat");
    writeFileSync(file, '[mcp]\nmoed = "hybrid"\n');
    await expect.poll(() => app.logs(), { timeout: 5000 }).toContain("the last good one stays in force");
    expect(app.core.settings().mode).toBe("classic");
    expect(await app.logs()).toContain("mcp.mode");
  });

  test("REQ-M3: more programs than are named: what the operator added is named, what everybody expects is counted", async () => {
    const usual = ["ls", "cat", "head", "tail", "wc", "stat", "file", "find", "grep", "rg", "sort", "uniq"];
    const added = Array.from({ length: 16 }, (_, i) => `added${i}`);
    const brief = nameBriefly([...usual, ...added]);
    for (const name of [...added, "grep", "rg"]) expect(brief.split(" ")).toContain(name);
    expect(brief).toMatch(/ and 4 more$/);
    expect(nameBriefly(["/usr/bin/ls", "ls"])).toBe("ls");
    expect(nameBriefly(Array.from({ length: 40 }, (_, i) => `p${i}`))).toMatch(/^p16 .* p39 and 16 more$/);
  });
});
