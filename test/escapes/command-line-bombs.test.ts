import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../app.ts";
import { failureOf, textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";

const MIB = 1024 * 1024;

const repeat = (word: string, times: number): string => Array(times).fill(word).join(" ");

const DOUBLED = `A=${"a".repeat(1000)}; ${repeat("A=$A$A;", 30)}`;
const LONG = `A=${"Ā".repeat(1000)}; A=${"$A".repeat(30)}; A=${"$A".repeat(30)};`;

/** Lines of at most 32 KiB, which would stand for megabytes to petabytes. */
const BOMBS: Readonly<Record<string, string>> = {
  "ranges by the thousand": `echo ${repeat("{1..9999}", 3200)}`,
  "a range of a billion": "echo {1..999999999}",
  "ranges that multiply": `echo ${"{1..99}".repeat(90)}`,
  "pairs that multiply": `echo ${"{a,b}".repeat(90)}`,
  "empty alternatives": `echo ${`{${",".repeat(30)}}`.repeat(90)}`,
  "braces in braces": `echo ${"{{a,b},".repeat(40)}c${"}".repeat(40)}${"{1..99}".repeat(5)}`,
  "long text around a range": `echo ${"x".repeat(30_000)}{1..9999}`,
  "quoted text around a range": `echo "${"x".repeat(30_000)}"{1..9999}`,
  "a variable that is doubled": `${DOUBLED} echo done`,
  "a long variable in many words": `${LONG} cat ${repeat('"$A"x', 900)}`,
  "a long variable in every program": `${LONG} ${Array(12).fill("cat $A$A").join("|")}`,
  "a variable of many words": `A=${`"${"a ".repeat(1000)}"`}; B="$A$A$A$A"; C="$B$B$B$B"; D="$C$C$C$C"; echo $D$D$D$D`,
  "here-strings": `${LONG} cat ${repeat("<<< $A", 90)}`,
  "braces around a variable": `${LONG} echo {1..999}$A`,
  "a format that multiplies": `A=${"%999s".repeat(1000)}; A="$A$A$A$A$A$A$A$A$A$A"; printf "$A$A$A$A$A$A$A$A$A" x`,
  "a long format for many": `A=${"a".repeat(30_000)}; printf "$A$A%s" {1..900}`,
  redirections: `echo x ${repeat("> f", 5000)}`,
  "values of values": `${LONG} ${repeat("B=$A", 3000)} echo x`,
};

describe("FAIL-J6 REQ-D23: a command line that multiplies itself", () => {
  test("is refused before it takes memory or time, and others are answered", {
    timeout: 60_000,
  }, async () => {
    await using workspace = await createWorkspace({ "a.txt": "a" });
    const server = await workspace.start({ args: ["--mode", "classic"] });
    expect(textOf(await server.call("run_cmd", { command: "echo 'ready'" }))).toContain("ready");
    const before = server.residentBytes();
    for (const [name, command] of Object.entries(BOMBS)) {
      expect(Buffer.byteLength(command), name).toBeLessThanOrEqual(32 * 1024);
      for (const tool of ["run_cmd", "linux_proc_start"]) {
        const startedAt = performance.now();
        const failure = failureOf(await server.call(tool, { command }));
        expect(failure.meta, name).toMatchObject({ error_code: expect.stringMatching(/^invalid_args$/i) });
        expect(performance.now() - startedAt, name).toBeLessThan(3000);
      }
      // Of all processes. Garbage of the lines before it counts too: 80 MiB measured, without the budget above 1,300.
      expect(server.residentBytes() - before, name).toBeLessThan(200 * MIB);
    }
    expect(textOf(await server.call("run_cmd", { command: "echo {1..900}" }))).toContain("900");
  });

  test("FAIL-J6 the deadline counts from the beginning: globs are looked up within it", async () => {
    const app = await openTestApp({ config: '[mcp]\nmode = "classic"\n[mcp.tools]\nexec_timeout = 20\n' });
    for (let at = 0; at < 1000; at++) mkdirSync(join(app.root, `folder-${at}`));
    for (const command of [`echo ${repeat("*/zz", 900)}`, `true; ls ${repeat("*/*/*/zz", 900)} > out.txt`]) {
      const startedAt = performance.now();
      const result = await app.ask("run_cmd", { command, timeout: 1 });
      expect(performance.now() - startedAt).toBeLessThan(4000);
      expect(result).toMatchObject({ kind: "ok", structured: { data: { exit_code: 124 } } });
    }
  });
});

describe("REQ-D23 globs match what bash matches", () => {
  test("FAIL-J1 pipes, links to outside and llmc's own folder do not refuse a line that only names them", async () => {
    const app = await openTestApp({
      config: '[mcp]\nmode = "classic"\n',
      files: { "a.c": "", ".hidden": "", "sub/x.c": "", "real/deep/y.c": "" },
    });
    execFileSync("mkfifo", [join(app.root, "fifo")]);
    symlinkSync("/etc", join(app.root, "outside"));
    symlinkSync("nowhere", join(app.root, "dangling"));
    symlinkSync("real/deep", join(app.root, "link"));
    writeFileSync(join(app.root, "real/z.c"), "");
    const outputOf = async (command: string): Promise<string> =>
      JSON.stringify((await app.ask("run_cmd", { command, raw: true })) as unknown);
    const all = await outputOf("echo *");
    for (const name of ["a.c", "outside", "dangling", "sub"]) expect(all).toContain(name);
    expect(await outputOf("ls -d .*")).toContain(".hidden");
    expect(await outputOf("ls -d .*")).not.toContain(".llmc");
    // As for the programs, `..` behind a link is where the link leads.
    expect(await outputOf("cd link && echo ../*.c")).toContain("../z.c");
    expect(await outputOf("cd link && echo hi > ../w.txt && cat ../w.txt")).toContain("hi");
    expect(await outputOf("cat real/w.txt")).toContain("hi");
    expect(await outputOf("echo there > link/../v.txt; cat real/v.txt")).toContain("there");
  });
});
