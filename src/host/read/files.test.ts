import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ErrorCode } from "../../base/error-table.ts";
import { translate } from "../reach/explain-failure.ts";
import { createLocateByDescriptor } from "../reach/locate-by-descriptor.ts";
import { locateByName } from "../reach/locate-by-name.ts";
import { createReach, type ReachOptions } from "../reach/reach.ts";
import { createFiles, type Files } from "./files.ts";

const ALL = { offsetLines: 0, maxLines: 1000, maxBytes: 100_000 };
const MARK = "OUTSIDE";

let base: string;
let workspace: string;
let outside: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "llmc-files-")));
  workspace = join(base, "app");
  outside = join(base, "app-secret");
  mkdirSync(join(workspace, "src"), { recursive: true });
  mkdirSync(join(outside, "deep"), { recursive: true });
  writeFileSync(join(workspace, "src/config.ts"), "one\ntwo\n");
  writeFileSync(join(outside, "x"), MARK);
  writeFileSync(join(outside, "deep/y"), MARK);
});

afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

const put = (path: string, content: string | Uint8Array): void =>
  writeFileSync(join(workspace, path), content);
const link = (target: string, path: string): void => symlinkSync(target, join(workspace, path));

const failure = async (
  work: Promise<unknown>,
): Promise<{ code: ErrorCode; message: string; hint?: string }> => {
  const error: unknown = await work.then(
    (value) => new Error(`Expected a refusal, got ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toHaveProperty("code");
  const shown = `${(error as { message: string }).message} ${(error as { hint?: string }).hint ?? ""}`;
  expect(shown).not.toContain(MARK);
  return error as { code: ErrorCode; message: string; hint?: string };
};

// The second way works wherever the first does, so both are held to the same promises on the same machine.
const WAYS = existsSync("/proc/self/fdinfo")
  ? [["by descriptor", createLocateByDescriptor()] as const, ["by name", locateByName] as const]
  : [["by name", locateByName] as const];

describe.each(WAYS)("files %s", (_way, locate) => {
  const make = (changes: Partial<ReachOptions> = {}): Files =>
    createFiles(
      createReach({
        workspace,
        roots: () => ["."],
        denylist: () => ["**/.env", "**/*token*"],
        locate,
        ...changes,
      }),
    );

  const refusedEverywhere = async (
    files: Files,
    path: string,
    code: ErrorCode = "path_denied",
  ): Promise<void> => {
    expect(await failure(files.readText(path, ALL)), path).toMatchObject({ code });
    expect(await failure(files.list(path)), path).toMatchObject({ code });
    expect(await failure(files.stat(path)), path).toMatchObject({ code });
  };

  it("REQ-D4 reads, lists and describes what is inside", async () => {
    chmodSync(join(workspace, "src/config.ts"), 0o640);
    const files = make();
    expect(await files.readText("src/config.ts", ALL)).toEqual({
      text: "one\ntwo\n",
      endByte: 8,
      path: "src/config.ts",
      sizeBytes: 8,
      firstLine: 0,
      lines: 2,
      totalLines: 2,
      truncated: false,
    });
    expect(await files.readText(join(workspace, "src/config.ts"), ALL)).toMatchObject({
      path: "src/config.ts",
    });
    expect(await files.list(".")).toEqual({ path: ".", entries: [{ name: "src", type: "dir" }] });
    const about = await files.stat("src/config.ts");
    expect(about).toMatchObject({ path: "src/config.ts", size: 8, mode: "0640", type: "file" });
    expect(Math.abs(about.mtime - Date.now() / 1000)).toBeLessThan(60);
    expect(await files.stat(".")).toMatchObject({ path: ".", type: "dir" });
  });

  it("lists by name, links and the denylisted among them, and leaves .llmc out", async () => {
    mkdirSync(join(workspace, ".llmc"));
    put(".env", "A=1");
    put("b", "");
    put("B", "");
    link(outside, "out");
    execFileSync("mkfifo", [join(workspace, "pipe")]);
    const { entries } = await make().list(".");
    expect(entries.map(({ name, type }) => `${name}:${type}`)).toEqual([
      ".env:file",
      "B:file",
      "b:file",
      "out:link",
      "pipe:other",
      "src:dir",
    ]);
  });

  it.each([
    "..",
    "../..",
    "src/../../app-secret/x",
    "/etc/passwd",
    "/",
    "/nowhere",
    "../app-secret/x",
    "../app-secret",
    "../app-secret/missing",
    "a\0b",
    "a".repeat(256),
    "a/".repeat(2100),
  ])("FAIL-A1 FAIL-A2 refuses %j", async (path) => {
    await refusedEverywhere(make(), path);
  });

  it.each([
    "~",
    "file:///etc/passwd",
    "%2e%2e/app-secret/x",
    "..\\app-secret\\x",
    "src.",
    "src ",
    "src/config.ts.",
  ])("FAIL-A1 takes %j as a name inside, which is not there", async (path) => {
    await refusedEverywhere(make(), path, "file_not_found");
  });

  it("FAIL-A1 reads names that look like tricks", async () => {
    for (const name of ["~", "..\\x", "%2e%2e", "x. ", "x (deleted)", "a\nb", "a".repeat(255)]) {
      put(name, "literal");
      expect(await make().readText(name, ALL)).toMatchObject({ text: "literal", path: name });
    }
  });

  it("FAIL-A3 refuses links that lead outside, whatever is there", async () => {
    link(join(outside, "x"), "file");
    link("../app-secret", "dir");
    link("file", "chain");
    link("chain", "chain2");
    link(join(outside, "missing"), "dangling");
    link("dangling", "dangling2");
    symlinkSync("loop", join(outside, "loop"));
    link(join(outside, "loop"), "loop");
    link("/nowhere/at/all", "nowhere");
    const paths = [
      "file",
      "dir",
      "dir/x",
      "dir/deep/y",
      "dir/missing",
      "dir/x/under",
      "chain",
      "chain2",
      "dangling",
    ];
    for (const path of [
      ...paths,
      "dangling2",
      "dangling2/y",
      "loop",
      "nowhere",
      "nowhere/x",
      "dir/missing/z",
    ]) {
      await refusedEverywhere(make(), path);
    }
  });

  it("REQ-D4 follows links that stay inside, and tells the real path", async () => {
    link("src", "alias");
    link("alias/config.ts", "file");
    expect(await make().readText("alias/config.ts", ALL)).toMatchObject({ path: "src/config.ts" });
    expect(await make().readText("file", ALL)).toMatchObject({ text: "one\ntwo\n", path: "src/config.ts" });
    link("missing", "dangling");
    link("circle", "circle");
    await refusedEverywhere(make(), "dangling", "file_not_found");
    await refusedEverywhere(make(), "circle", "file_not_found");
  });

  it("REQ-D4 takes a workspace and roots that are links, by either name", async () => {
    symlinkSync(workspace, join(base, "alias"));
    symlinkSync(outside, join(base, "second"));
    const files = make({ workspace: join(base, "alias"), roots: () => [".", "../second"] });
    for (const path of [
      "src/config.ts",
      join(base, "alias/src/config.ts"),
      join(workspace, "src/config.ts"),
    ]) {
      expect(await files.readText(path, ALL)).toMatchObject({ path: "src/config.ts" });
    }
    expect(await files.readText(join(base, "second/x"), ALL)).toMatchObject({ path: join(outside, "x") });
    expect(await files.readText("../app-secret/x", ALL)).toMatchObject({ text: MARK });
  });

  it("FAIL-A9 without roots refuses everything", async () => {
    for (const path of [".", "src/config.ts", "/", "missing", outside]) {
      await refusedEverywhere(make({ roots: () => [] }), path);
    }
  });

  it("REQ-D4 follows the configuration, and resolves each list once", async () => {
    let roots: readonly string[] = ["."];
    let denylist: readonly string[] = [];
    const files = make({ roots: () => roots, denylist: () => denylist });
    expect(await files.readText("src/config.ts", ALL)).toMatchObject({ lines: 2 });
    denylist = ["**/config.*"];
    expect(await failure(files.readText("src/config.ts", ALL))).toMatchObject({ code: "path_denied" });
    denylist = [];
    roots = ["lib"];
    await refusedEverywhere(files, "src/config.ts");
    roots = [".", outside];
    expect(await files.readText(join(outside, "x"), ALL)).toMatchObject({ text: MARK });
  });

  it("FAIL-A3 a root that appears later as a link, or is swapped for one, opens nothing", async () => {
    const files = make({ roots: () => ["build", "src"] });
    await refusedEverywhere(files, "build/x", "file_not_found");
    link(outside, "build");
    await refusedEverywhere(files, "build/x");
    renameSync(join(workspace, "src"), join(workspace, "old"));
    link(outside, "src");
    await refusedEverywhere(files, "src/x");
    unlinkSync(join(workspace, "build"));
    mkdirSync(join(workspace, "build"));
    put("build/x", "inside");
    expect(await files.readText("build/x", ALL)).toMatchObject({ text: "inside" });
  });

  it("FAIL-A6 REQ-F9 refuses pipes, sockets and devices at once", async () => {
    execFileSync("mkfifo", [join(workspace, "pipe")]);
    link("pipe", "to-pipe");
    link("/dev/zero", "zero");
    link("/dev/tty", "tty");
    const server = createServer().listen(join(workspace, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    const started = performance.now();
    try {
      for (const roots of [["."], ["/"]]) {
        const files = make({ roots: () => roots });
        for (const path of ["pipe", "to-pipe", "socket", "zero", "tty"]) await refusedEverywhere(files, path);
      }
    } finally {
      server.close();
    }
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it("FAIL-A6 refuses /proc and /sys, by name and through links, whatever the roots", async () => {
    const systemPaths = [
      "/proc/self/environ",
      "/proc/self/fd/0",
      "/proc/self/fd",
      "/proc/1",
      "/proc",
      "/sys/kernel",
    ];
    link("/proc/self/environ", "environ");
    link("/proc/self", "self");
    link("/proc/self/fd/0", "stdin");
    for (const roots of [["."], ["/"], ["/", "/proc", "/proc/self", "/sys"]]) {
      const files = make({ roots: () => roots });
      for (const path of [...systemPaths, "environ", "self/environ", "stdin"]) {
        await refusedEverywhere(files, path);
      }
    }
  });

  it("FAIL-A10 REQ-F8 withholds the content of denylisted names, not their being there", async () => {
    put(".env", "KEY=1");
    put("my-token.txt", "KEY=1");
    put("tokenizer.ts", "code");
    link(".env", "plain.txt");
    link("my-token.txt", "tokenizer2.ts");
    for (const path of [".env", "my-token.txt", "plain.txt", "tokenizer2.ts"]) {
      const error = await failure(make().readText(path, ALL));
      expect(error).toMatchObject({
        code: "path_denied",
        message: expect.stringContaining("denylist_globs"),
      });
      expect(await make().stat(path)).toMatchObject({ type: "file", size: 5 });
    }
    expect(await make().readText("tokenizer.ts", ALL)).toMatchObject({ text: "code" });
  });

  it("keeps its own state to itself, whatever the roots", async () => {
    mkdirSync(join(workspace, ".llmc"));
    put(".llmc/tokens.md", MARK);
    link(".llmc", "state");
    link(".llmc/tokens.md", "notes.md");
    for (const roots of [["."], ["/"], [".llmc"]]) {
      const files = make({ roots: () => roots });
      for (const path of [
        ".llmc",
        ".llmc/tokens.md",
        ".llmc/missing",
        "state/tokens.md",
        "state",
        "notes.md",
      ]) {
        await refusedEverywhere(files, path);
      }
    }
  });

  it("keeps its own state to itself where it is a link", async () => {
    link(outside, ".llmc");
    const files = make({ roots: () => ["/"] });
    await refusedEverywhere(files, ".llmc/x");
    await refusedEverywhere(files, join(outside, "x"));
  });

  it("tells what is wrong, with a way out", async () => {
    const files = make();
    const missing = await failure(files.readText("src/confg.ts", ALL));
    expect(missing).toMatchObject({ code: "file_not_found", hint: 'Did you mean "src/config.ts"?' });
    mkdirSync(join(workspace, "src/deep"));
    const deeper = await failure(files.readText("./src/./depe/one.ts", ALL));
    expect(deeper.hint).toBe('"src/depe" is not there; did you mean "src/deep"?');
    const whole = await failure(files.readText(join(workspace, "src/confg.ts"), ALL));
    expect(whole.hint).toBe(`Did you mean "${join(workspace, "src/config.ts")}"?`);
    // An extension in common does not make names alike.
    const unlike = await failure(files.stat("src/concat.ts"));
    expect(unlike).toMatchObject({ hint: "List a directory above it to see what is there." });
    const above = await failure(files.readText("srcc/config.ts", ALL));
    expect(above).toMatchObject({ code: "file_not_found", hint: '"srcc" is not there; did you mean "src"?' });
    const far = await failure(files.stat("something-else"));
    expect(far).toMatchObject({
      code: "file_not_found",
      hint: "List a directory above it to see what is there.",
    });
    expect(await failure(files.readText("src", ALL))).toMatchObject({ code: "is_directory" });
    expect(await failure(files.list("src/config.ts"))).toMatchObject({ code: "not_a_directory" });
    expect(await failure(files.stat("src/config.ts/x"))).toMatchObject({ code: "not_a_directory" });
  });

  it("FAIL-A10 does not suggest what it would refuse", async () => {
    put(".env", "");
    put("my-token.txt", "");
    link(join(outside, "x"), "linked-out");
    for (const path of [".enw", "my-tokem.txt", "linked-ou"]) {
      expect((await failure(make().stat(path))).hint).toBe("List a directory above it to see what is there.");
    }
  });

  it("never names a real path outside", async () => {
    link(outside, "dir");
    for (const path of ["dir", "dir/x", "dir/missing", "../app-secret/x"]) {
      const { message, hint } = await failure(make().stat(path));
      expect(`${message} ${hint}`).not.toContain(base);
    }
  });

  it("reads a hard link by the name it was opened with", async () => {
    put(".env", "KEY=1");
    linkSync(join(workspace, ".env"), join(workspace, "copy"));
    expect(await failure(make().readText(".env", ALL))).toMatchObject({ code: "path_denied" });
    expect(await make().readText("copy", ALL)).toMatchObject({ text: "KEY=1" });
  });

  it("reads a file that is rewritten all the while", async () => {
    const files = make();
    const text = "x\n".repeat(1000);
    let stop = false;
    const rewriting = (async () => {
      while (!stop) {
        put("new", text);
        renameSync(join(workspace, "new"), join(workspace, "file"));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    put("file", text);
    try {
      for (let i = 0; i < 300; i++) expect((await files.readText("file", ALL)).text).toBe(text);
    } finally {
      stop = true;
      await rewriting;
    }
  });

  it("closes what it opens, on every way out", async () => {
    link(outside, "dir");
    put("binary", new Uint8Array(100));
    const files = make();
    const count = () => readdirSync("/dev/fd").length;
    const before = count();
    const paths = [
      "src/config.ts",
      "src",
      "missing",
      "dir/x",
      "dir/missing",
      "binary",
      "src/config.ts/x",
      "/proc/self",
    ];
    for (let i = 0; i < 50; i++) {
      for (const path of paths) {
        await Promise.allSettled([
          files.readText(path, ALL),
          files.list(path),
          files.stat(path),
          files.readText(path, ALL, AbortSignal.abort()),
        ]);
      }
    }
    await expect.poll(count).toBeLessThanOrEqual(before);
  });
});

describe("translating the system's errors", () => {
  it.each<[system: string, code: ErrorCode, retryable: boolean]>([
    ["ENOENT", "file_not_found", false],
    ["ELOOP", "file_not_found", false],
    ["ENOTDIR", "not_a_directory", false],
    ["EACCES", "permission_denied", false],
    ["EPERM", "permission_denied", false],
    ["ENAMETOOLONG", "path_denied", false],
    ["EMFILE", "busy", true],
    ["ENFILE", "busy", true],
    ["EIO", "internal_error", false],
  ])("%s is %s", (system, code, retryable) => {
    const cause = Object.assign(new Error("/real/path/outside"), { code: system });
    const error = translate(cause, "mine");
    expect(error).toMatchObject({ code, retryable, cause });
    expect(`${error.message} ${error.hint}`).not.toContain("/real");
  });
});
