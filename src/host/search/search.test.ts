import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocateByDescriptor } from "../reach/locate-by-descriptor.ts";
import { locateByName } from "../reach/locate-by-name.ts";
import { createReach, type ReachOptions } from "../reach/reach.ts";
import { createFiles } from "../read/files.ts";
import { versionOf } from "../state/handles/file.ts";
import {
  type ContentQuery,
  createSearch,
  type NameQuery,
  renderHitLines,
  type Search,
  type SearchOptions,
} from "./search.ts";

const ME = { principal: "local" };

const CONTENT: ContentQuery = {
  root: ".",
  pattern: "needle",
  fileGlob: undefined,
  literal: false,
  ignoreCase: false,
  ignoreFiles: true,
  contextLines: 0,
  maxResults: 100,
};
const NAMES: NameQuery = { root: ".", pattern: "*", fileGlob: undefined, ignoreFiles: true, maxResults: 100 };

let base: string;
let workspace: string;
let stored: { kind: string; source: string; lines: string[] }[];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "llmc-search-")));
  workspace = join(base, "app");
  mkdirSync(workspace);
  stored = [];
});

afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

const put = (path: string, content: string | Uint8Array = ""): void => {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), content);
};

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");
const putRaw = (name: Buffer, content: string): void =>
  writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), name]), content);

const WAYS = existsSync("/proc/self/fdinfo")
  ? [["by descriptor", createLocateByDescriptor()] as const, ["by name", locateByName] as const]
  : [["by name", locateByName] as const];

const makeWith = (changes: Partial<SearchOptions & ReachOptions>) => {
  const reach = createReach({
    workspace,
    roots: () => ["."],
    denylist: () => ["**/.env", "**/*.pem", "**/*token*"],
    ...changes,
  });
  const files = createFiles(reach);
  const search = createSearch({
    files,
    timeoutMs: () => 10_000,
    handles: {
      put: async (_owner, kind, source, lines) => {
        const all: string[] = [];
        for await (const block of lines) all.push(...block.split("\n"));
        stored.push({ kind, source, lines: all });
        return `h_${stored.length}`;
      },
    },
    ...changes,
    reach,
  });
  return { files, search };
};

const rendererFor = (locate: ReachOptions["locate"], denylist?: () => readonly string[]) =>
  renderHitLines({
    files: makeWith({ ...(locate && { locate }), ...(denylist && { denylist }) }).files,
    versionOf: (path) => versionOf(join(workspace, path)),
  });

describe.each(WAYS)("search %s", (_way, locate) => {
  const make = (changes: Partial<SearchOptions & ReachOptions> = {}): Search =>
    makeWith({ locate, ...changes }).search;
  const content = (query: Partial<ContentQuery> = {}, changes: Partial<SearchOptions & ReachOptions> = {}) =>
    make(changes).content({ ...CONTENT, ...query }, ME);
  const names = (query: Partial<NameQuery> = {}) => make().names({ ...NAMES, ...query }, ME);
  const found = async (query: Partial<ContentQuery> = {}): Promise<string[]> =>
    (await content(query)).hits.map(({ path, line, snippet }) => `${path}:${line}:${snippet}`);

  it("REQ-F6 finds lines in path order, with their context and true totals", async () => {
    put("src/b.ts", "one\ntwo needle\nthree\nfour\nneedle\n");
    put("src/a.ts", "needle");
    put("src/a/z.ts", "a needle\r\nnext\r\n");
    expect(await content({ contextLines: 1 })).toEqual({
      root: ".",
      hits: [
        { path: "src/a.ts", line: 1, snippet: "needle", firstLine: 1 },
        { path: "src/a/z.ts", line: 1, snippet: "a needle\nnext", firstLine: 1 },
        { path: "src/b.ts", line: 2, snippet: "one\ntwo needle\nthree", firstLine: 1 },
        { path: "src/b.ts", line: 5, snippet: "four\nneedle", firstLine: 4 },
      ],
      totalHits: 4,
      totalFiles: 3,
      exact: true,
      handle: undefined,
      unread: { total: 0, first: [] },
    });
    expect(stored).toEqual([]);
    expect(await content({ pattern: "nothing here" })).toMatchObject({ hits: [], totalHits: 0, exact: true });
  });

  it("REQ-F6 counts one hit for a line, however often it matches, and takes patterns as they are meant", async () => {
    put("a.txt", "needle needle\nNeedle\na.c\nabc\n");
    expect(await found()).toEqual(["a.txt:1:needle needle"]);
    expect(await found({ ignoreCase: true })).toHaveLength(2);
    expect(await found({ pattern: "a.c" })).toHaveLength(2);
    expect(await found({ pattern: "a.c", literal: true })).toEqual(["a.txt:3:a.c"]);
    expect(await found({ pattern: "^$" })).toEqual([]);
    expect((await content({ pattern: "" + "^" })).totalHits).toBe(4);
    expect(await found({ pattern: "\\bneed(le)?\\b" })).toHaveLength(1);
  });

  it("REQ-F6 respects ignore files, in repositories and elsewhere, unless told not to", async () => {
    put(".gitignore", "*.log\nbuild/\n");
    put("a.log", "needle");
    put("build/x.ts", "needle");
    put("sub/.ignore", "skip.ts\n");
    put("sub/skip.ts", "needle");
    put("sub/keep.ts", "needle");
    put(".hidden/x.ts", "needle");
    put(".git/HEAD", "needle");
    put(".llmc/state", "needle");
    put("deep/.llmc/state", "needle");
    expect(await found()).toEqual(["sub/keep.ts:1:needle"]);
    expect(await found({ root: "sub" })).toEqual(["sub/keep.ts:1:needle"]);
    const all = ["a.log", "build/x.ts", ".hidden/x.ts", "sub/keep.ts", "sub/skip.ts"].sort();
    const open = await content({ ignoreFiles: false });
    expect(open.hits.map(({ path }) => path)).toEqual(all);
    expect(open.totalHits).toBe(5);
    expect((await names({ ignoreFiles: false })).paths).toEqual([...all, ".gitignore", "sub/.ignore"].sort());
  });

  it("REQ-F6 file globs choose among what is not ignored", async () => {
    put(".gitignore", "gen.ts\n");
    for (const path of [
      "a.ts",
      "gen.ts",
      ".h.ts",
      "b.js",
      "src/c.ts",
      "src/x/d.ts",
      "lib/a:b.ts",
      "[x].ts",
    ]) {
      put(path, "needle");
    }
    const withGlob = async (fileGlob: string, query: Partial<ContentQuery> = {}): Promise<string[]> =>
      (await content({ fileGlob, ...query })).hits.map(({ path }) => path);
    expect(await withGlob("*.ts")).toEqual(["[x].ts", "a.ts", "lib/a:b.ts", "src/c.ts", "src/x/d.ts"]);
    expect(await withGlob("*.{js,tsx}")).toEqual(["b.js"]);
    expect(await withGlob(".*.ts")).toEqual([".h.ts"]);
    expect(await withGlob("src/*.ts")).toEqual(["src/c.ts"]);
    expect(await withGlob("src/**/*.ts")).toEqual(["src/c.ts", "src/x/d.ts"]);
    expect(await withGlob("src/")).toEqual(["src/c.ts", "src/x/d.ts"]);
    expect(await withGlob("src/{c,x/d}.ts")).toEqual(["src/c.ts", "src/x/d.ts"]);
    expect(await withGlob("a:b.*")).toEqual(["lib/a:b.ts"]);
    expect(await withGlob("*.TS")).toEqual([]);
    expect(await withGlob("!*.ts")).toEqual(["b.js"]);
    expect(await withGlob("!src")).not.toContain("src/c.ts");
    expect(await withGlob("*.ts", { ignoreFiles: false })).toContain("gen.ts");
    expect((await names({ pattern: "c.", fileGlob: "*.ts" })).paths).toEqual(["src/c.ts"]);
    for (const fileGlob of ["", "!", "[", "{a", "a\0b", "--pre=sh", "-f", "x".repeat(2000)]) {
      const answer = await content({ fileGlob }).catch((error: unknown) => error);
      if (fileGlob.startsWith("-")) expect(answer).toMatchObject({ totalHits: 0 });
      else expect(answer).toMatchObject({ code: "invalid_args" });
    }
  });

  it.each(["--pre=sh", "-f/etc/passwd", "--files", "-", "--", "-e", "--help", "$(id)", "; id", "`id`"])(
    "FAIL-B1 takes %j as a pattern",
    async (pattern) => {
      put("opt.txt", `a ${pattern} b\nother\n`);
      expect(await found({ pattern, literal: true })).toEqual([`opt.txt:1:a ${pattern} b`]);
      if (!/[$]/.test(pattern)) expect(await found({ pattern })).toEqual([`opt.txt:1:a ${pattern} b`]);
      expect((await names({ pattern })).paths).toEqual([]);
    },
  );

  it("FAIL-B2 stays quick with patterns that explode elsewhere", async () => {
    put("a.txt", `${"a".repeat(50_000)}b\n`);
    const start = performance.now();
    expect((await content({ pattern: "(a+)+$" })).totalHits).toBe(0);
    expect((await content({ pattern: "(a|a)*b" })).totalHits).toBe(1);
    for (const pattern of ["(\\w{100}){50}", "a{1000}{1000}{1000}"]) {
      await expect(content({ pattern })).rejects.toMatchObject({ code: "invalid_args" });
    }
    expect(performance.now() - start).toBeLessThan(5000);
  });

  it.each([
    ["abc(d", "unclosed group, at character 4: abc(d"],
    ["a)b", "unopened group, at character 2: a)b"],
    ["[z-a]", "at character 2: [z-a]"],
    ["é[z-a]", "at character 3: é[z-a]"],
    ["*a", "repetition operator missing expression, at character 1: *a"],
    [`${"x".repeat(4000)}[z-a]${"y".repeat(3000)}`, "…"],
    ["(?=a)b", "look-around, including look-ahead and look-behind, is not supported, at character 1"],
    ["(a)\\1", "backreferences are not supported"],
    ["\\x00", "impossible to match"],
    ["", "empty"],
    ["x".repeat(8193), "8192 bytes"],
    ["x".repeat(100_000), "8192 bytes"],
    ["a\0b", "NUL"],
  ])("FAIL-B2 refuses %j and says why", async (pattern, why) => {
    put("a.txt", "text\n");
    const error: unknown = await content({ pattern }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid_args", details: { field: "pattern" } });
    const { message } = error as Error;
    expect(message).toContain(why);
    expect(message.length).toBeLessThanOrEqual(301);
    expect(message).not.toContain(workspace);
  });

  it("REQ-F6 a hit in a long line shows the match, wherever it is in the line", async () => {
    put("min.js", `${"é".repeat(3000)}needle();${"y".repeat(3000)}\n`);
    put("wide.txt", Buffer.from(`\uFEFF${"é".repeat(3000)}needle\n`, "utf16le"));
    put("fits.txt", `${"x".repeat(180)}needle\n`);
    const { hits } = await content({ contextLines: 0 });
    expect(hits.map(({ snippet }) => snippet)).toEqual([
      `${"x".repeat(180)}needle`,
      `…${"é".repeat(30)}needle();${"y".repeat(161)}…`,
      `…${"é".repeat(30)}needle`,
    ]);
    const [alone] = (await content({ root: "min.js", contextLines: 0 })).hits;
    expect(alone?.snippet).toContain("needle();");
  });

  it("REQ-F6 finds patterns of several lines, each match once", async () => {
    put("a.txt", "one\nfoo\nbar\nfoo\nbar foo\nbar\ntwo\n");
    put("b.txt", "foo\r\nbar\n");
    const at = async (query: Partial<ContentQuery>): Promise<string[]> =>
      (await content({ contextLines: 0, ...query })).hits.map(
        ({ path, line, snippet }) => `${path}:${line}:${snippet}`,
      );
    expect(await at({ pattern: "foo\\nbar" })).toEqual([
      "a.txt:2:foo\nbar",
      "a.txt:4:foo\nbar foo",
      "a.txt:5:bar foo\nbar",
    ]);
    expect(await at({ pattern: "bar\ntwo", literal: true })).toEqual(["a.txt:6:bar\ntwo"]);
    expect(await at({ pattern: "(?s)one.*two" })).toEqual(["a.txt:1:one"]);
    expect(await at({ pattern: "foo\\nbar", root: "a.txt" })).toHaveLength(3);
    expect(await content({ pattern: "foo\\nbar", maxResults: 1 })).toMatchObject({
      totalHits: 3,
      totalFiles: 1,
    });
  });

  it("REQ-F6 an exact hidden name is found, and an ignored one is told with its rule", async () => {
    put(".gitignore", "*.log\nbuild/\n");
    put("debug.log");
    put("build/out/bundle.js");
    put(".github/workflows/ci.yml");
    put(".env.example");
    put("sub/.ignore", "skip*\n");
    put("sub/deep/skip.ts");
    expect((await names({ pattern: ".env.example" })).paths).toEqual([".env.example"]);
    expect((await names({ pattern: "ci.yml" })).paths).toEqual([".github/workflows/ci.yml"]);
    expect((await names({ pattern: "workflows/ci.yml", root: ".github" })).paths).toEqual([
      ".github/workflows/ci.yml",
    ]);
    expect(await names({ pattern: "debug.log" })).toMatchObject({
      paths: [],
      ignored: [{ path: "debug.log", rule: "*.log in .gitignore" }],
    });
    expect((await names({ pattern: "bundle.js" })).ignored).toEqual([
      { path: "build/out/bundle.js", rule: "build/ in .gitignore" },
    ]);
    expect((await names({ pattern: "skip.ts", root: "sub/deep" })).ignored).toEqual([
      { path: "sub/deep/skip.ts", rule: "skip* in sub/.ignore" },
    ]);
    expect(await names({ pattern: "nowhere.ts" })).toMatchObject({ paths: [], ignored: [] });
  });

  it("FAIL-B3 cuts long lines, leaves binary files out, and reads UTF-16", async () => {
    put("min.js", `var a=1;needle();${"x".repeat(10_000_000)}needle\nshort needle\n`);
    put("early.bin", bytes("needle\0rest\n"));
    put("late.bin", `needle one\n${"line of text\n".repeat(20_000)}\0\nneedle\n`);
    put("wide.txt", Buffer.from("\uFEFFfirst\nneedle é\n", "utf16le"));
    put("emoji.txt", `needle${"😀".repeat(300)}\n`);
    const { hits, totalHits } = await content({ contextLines: 1 });
    expect(totalHits).toBe(hits.length);
    expect(hits.map(({ path, line }) => `${path}:${line}`)).toEqual([
      "emoji.txt:1",
      "late.bin:1",
      "min.js:1",
      "min.js:2",
      "wide.txt:2",
    ]);
    for (const { snippet } of hits) expect(snippet.length).toBeLessThan(450);
    const [emoji, , minified, , wide] = hits;
    expect(emoji?.snippet).toBe(`needle${"😀".repeat(97)}…`);
    expect(minified?.snippet).toMatch(/^var a=1;needle\(\);x+…\nshort needle$/);
    expect(wide?.snippet).toBe("first\nneedle é");
  });

  it("FAIL-B5 survives any file name", async () => {
    const odd = [
      "two\nlines",
      'quo"te',
      "a:1:b",
      "12:needle",
      "\u2028",
      "-x",
      "sp ace",
      "tab\t",
      "[br]",
      "1",
    ];
    for (const name of odd) put(name, "needle\n");
    put("two\nlines dir/late\n.bin", `needle\n${"text\n".repeat(50_000)}\0`);
    putRaw(bytes("bad\xff.txt"), "needle\nneedle\n");
    const { hits, totalHits, totalFiles } = await content();
    expect(totalHits).toBe(odd.length + 3);
    expect(totalFiles).toBe(odd.length + 2);
    const readable = hits.filter(({ snippet }) => snippet === "needle").map(({ path }) => path);
    expect(readable).toEqual([...odd, "two\nlines dir/late\n.bin"].sort());
    expect(hits.filter(({ path }) => path === "bad\uFFFD.txt")).toEqual([
      { path: "bad\uFFFD.txt", line: 1, snippet: "", firstLine: 1 },
      { path: "bad\uFFFD.txt", line: 2, snippet: "", firstLine: 2 },
    ]);
    expect(JSON.parse(JSON.stringify(hits))).toEqual(hits);
    const listed = await names();
    expect(listed.paths).toEqual([...odd, "two\nlines dir/late\n.bin", "bad\uFFFD.txt"].sort());
    expect((await names({ pattern: "bad" })).paths).toEqual(["bad\uFFFD.txt"]);
  });

  it("FAIL-B6 refuses roots that lead outside, and follows those that stay inside", async () => {
    mkdirSync(join(base, "secret"));
    writeFileSync(join(base, "secret/x.txt"), "needle");
    put("src/a.ts", "needle");
    put("file.txt", "needle\n");
    symlinkSync(join(base, "secret"), join(workspace, "out"));
    symlinkSync("src", join(workspace, "in"));
    symlinkSync(join(base, "secret/x.txt"), join(workspace, "out.txt"));
    for (const root of ["out", "..", "/etc", "out.txt", join(base, "secret"), ".llmc"]) {
      await expect(content({ root }), root).rejects.toMatchObject({ code: "path_denied" });
      await expect(names({ root }), root).rejects.toMatchObject({ code: "path_denied" });
    }
    await expect(content({ root: "nope" })).rejects.toMatchObject({ code: "file_not_found" });
    expect(await content({ root: "in" })).toMatchObject({ root: "src", hits: [{ path: "src/a.ts" }] });
    expect((await content()).hits.map(({ path }) => path)).toEqual(["file.txt", "src/a.ts"]);
    expect((await names()).paths).toEqual(["file.txt", "src/a.ts"]);
    expect(await content({ root: "file.txt" })).toMatchObject({
      root: "file.txt",
      hits: [{ path: "file.txt", line: 1, snippet: "needle" }],
      totalHits: 1,
      totalFiles: 1,
    });
    expect((await names({ root: "file.txt", pattern: "file" })).paths).toEqual(["file.txt"]);
    await expect(content({ roots: () => [] } as never, { roots: () => [] })).rejects.toMatchObject({
      code: "path_denied",
    });
  });

  it("REQ-F8 FAIL-A10 nothing of withheld files is found, their names alone", async () => {
    for (const name of [".env", "sub/.ENV", "key.PEM", "my-token.txt"]) put(name, "needle=SECRET\n");
    put("tokenizer.ts", "needle\n");
    symlinkSync(".env", join(workspace, "link.md"));
    const { hits, totalHits, totalFiles } = await content({ ignoreFiles: false, contextLines: 3 });
    expect(hits.map(({ path }) => path)).toEqual(["tokenizer.ts"]);
    expect({ totalHits, totalFiles }).toEqual({ totalHits: 1, totalFiles: 1 });
    for (const root of [".env", "link.md", "key.PEM"]) {
      await expect(content({ root })).rejects.toMatchObject({ code: "path_denied" });
    }
    expect((await names({ pattern: "*.pem" })).paths).toEqual(["key.PEM"]);
  });

  it("REQ-F6 a page of many is always the same, and the handle has all", async () => {
    for (let i = 0; i < 50; i++) put(`d${i % 7}/f${i}.txt`, "needle\nx\nneedle\n");
    const first = await content({ maxResults: 7 });
    expect(first).toMatchObject({ totalHits: 100, totalFiles: 50, exact: true, handle: "h_1" });
    expect(first.hits.map(({ path, line }) => `${path}:${line}`)).toEqual(
      ["d0/f0.txt", "d0/f14.txt", "d0/f21.txt", "d0/f28.txt"]
        .flatMap((path) => [`${path}:1`, `${path}:3`])
        .slice(0, 7),
    );
    for (let i = 0; i < 5; i++) expect((await content({ maxResults: 7 })).hits).toEqual(first.hits);
    const [handle] = stored;
    expect(handle).toMatchObject({ kind: "search_hits", source: "." });
    expect(handle?.lines).toHaveLength(100);
    expect(handle?.lines.slice(0, 7).map((line) => JSON.parse(line))).toMatchObject(
      first.hits.map(({ path, line }) => ({ path, line, first: line, snippet: "needle" })),
    );
    expect((await rendererFor(locate)(handle?.lines ?? [])).slice(0, 3)).toEqual([
      "d0/f0.txt\n1:needle",
      "3:needle",
      "d0/f14.txt\n1:needle",
    ]);

    const few = await names({ pattern: "f1", maxResults: 3 });
    expect(few).toMatchObject({ totalHits: 11, exact: true, handle: expect.any(String) });
    expect(few.paths).toEqual(["d1/f1.txt", "d0/f14.txt", "d1/f15.txt"]);
    expect(stored.at(-1)?.lines).toHaveLength(11);
  });

  it("REQ-F7 FAIL-A10 FAIL-B5 what was found is what is read later, with its context, and only where it may be read", async () => {
    put("a.txt", "needle one\nneedle two\n");
    put("b:1.txt", "before\nneedle\nafter\nlast\n");
    put("[x]", "needle\n");
    put("new\nline", "needle\n");
    put("z.txt", "one\nneedle\nneedle\n\nneedle\n");
    putRaw(bytes("bad\xff"), "needle\n");
    await content({ maxResults: 1, contextLines: 1 });
    await names({ maxResults: 1 });
    const [hits = [], paths = []] = stored.map(({ lines }) => lines);
    expect(hits.map((line) => JSON.parse(line).path)).toEqual([
      "[x]",
      "a.txt",
      "a.txt",
      "b:1.txt",
      "bad\uFFFD",
      "new\nline",
      "z.txt",
      "z.txt",
      "z.txt",
    ]);
    expect(paths).toEqual(['"[x]"', "a.txt", "b:1.txt", "bad\uFFFD", '"new\\nline"', "z.txt"]);
    put("z.txt", "changed\n");
    rmSync(join(workspace, "[x]"));
    const render = rendererFor(locate, () => ["a.txt"]);
    const note = "[5 more hits are not stored]";
    const reference = JSON.stringify({ path: "b:1.txt", line: 4 });
    expect(await render([...hits, reference, '{"path":"none","line":1}', note])).toEqual([
      '"[x]" [gone since]\n1:needle',
      "[no longer there]",
      "[no longer there]",
      "b:1.txt\n1-before\n2:needle\n3-after",
      "bad\uFFFD\n1:",
      '"new\\nline"\n1:needle',
      "z.txt [changed since]\n1-one\n2:needle",
      "3:needle\n4-",
      "5:needle",
      "b:1.txt\n4:last",
      "[no longer there]",
      note,
    ]);
    expect(await render(paths)).toEqual(["[no longer there]", ...paths.slice(1)]);
    expect(await render(["../outside", '{"path":"/etc/passwd","line":1,"snippet":"x"}', ""])).toEqual([
      "[no longer there]",
      "[no longer there]",
      "",
    ]);
  });

  it("REQ-F6 finds names by glob and by letters, the best first", async () => {
    for (const path of [
      "src/user.ts",
      "src/user-service.ts",
      "lib/UserService.java",
      "test/user.test.ts",
      "docs/README.md",
    ]) {
      put(path);
    }
    expect((await names({ pattern: "*.ts" })).paths).toEqual([
      "src/user-service.ts",
      "src/user.ts",
      "test/user.test.ts",
    ]);
    expect((await names({ pattern: "src/*" })).paths).toEqual(["src/user-service.ts", "src/user.ts"]);
    expect((await names({ pattern: "readme*" })).paths).toEqual(["docs/README.md"]);
    expect((await names({ pattern: "Readme*" })).paths).toEqual([]);
    expect((await names({ root: "src", pattern: "*.ts" })).paths).toEqual([
      "src/user-service.ts",
      "src/user.ts",
    ]);
    expect(await names({ pattern: "user" })).toEqual({
      root: ".",
      paths: ["src/user.ts", "test/user.test.ts", "src/user-service.ts", "lib/UserService.java"],
      totalHits: 4,
      exact: true,
      handle: undefined,
      ignored: [],
      unread: { total: 0, first: [] },
    });
    expect((await names({ pattern: "UserService" })).paths).toEqual(["lib/UserService.java"]);
    expect((await names({ pattern: "usvc" })).paths).toEqual(["src/user-service.ts", "lib/UserService.java"]);
    expect(await names({ pattern: "zzzz" })).toMatchObject({ paths: [], totalHits: 0, exact: true });
    for (const pattern of ["", "x".repeat(9000), "[a"]) {
      await expect(names({ pattern })).rejects.toMatchObject({ code: "invalid_args" });
    }
  });

  it("counting stops at the deadline, and the answer says so", async () => {
    for (let i = 0; i < 30; i++) put(`f${i}.txt`, "needle\n".repeat(100));
    const slow = join(base, "slow-rg");
    writeFileSync(slow, `#!/bin/sh\n"${rg()}" "$@"\nexec sleep 60\n`);
    chmodSync(slow, 0o755);
    const start = performance.now();
    const answer = await content({}, { rgPath: slow, timeoutMs: () => 300 });
    expect(answer).toMatchObject({ exact: false, totalHits: 3000 });
    expect(answer.hits).toHaveLength(100);
    expect(performance.now() - start).toBeLessThan(3000);
  });

  it("what changed while it was searched is shown as it is, or not at all", async () => {
    for (const path of ["also-short.txt", "gone.txt", "new.txt", "over.txt"]) put(path, "one\nneedle\n");
    const reach = createReach({ workspace, roots: () => ["."], denylist: () => [], locate });
    const files = createFiles(reach);
    const search = createSearch({
      reach,
      timeoutMs: () => 10_000,
      // An answer without a handle is better than none.
      handles: { put: () => Promise.reject(new Error("the disk is full")) },
      files: {
        readLines: (...args) => {
          put("also-short.txt", "one\n");
          rmSync(join(workspace, "gone.txt"), { force: true });
          put("new.txt", "one\nother\n");
          return files.readLines(...args);
        },
      },
    });
    expect(await search.content({ ...CONTENT, maxResults: 3 }, ME)).toMatchObject({
      hits: [{ path: "new.txt", line: 2, snippet: "other", firstLine: 2 }],
      totalHits: 4,
      handle: undefined,
    });
    files.readLines = () => Promise.reject(Object.assign(new Error("many files"), { code: "EMFILE" }));
    await expect(search.content({ ...CONTENT, pattern: "o" }, ME)).rejects.toMatchObject({ code: "busy" });
  });

  it.runIf(existsSync("/proc/self/fd"))("closes what it opens, on every way out", async () => {
    for (let i = 0; i < 20; i++) put(`d${i}/a.txt`, "needle\n");
    const opened = (): number => readdirSync("/proc/self/fd").length;
    await content();
    const before = opened();
    for (let i = 0; i < 10; i++) {
      await Promise.all([
        content(),
        content({ root: "d1/a.txt" }),
        names(),
        names({ pattern: "a", maxResults: 3 }),
      ]);
      await expect(content({ pattern: "(" })).rejects.toThrow();
      await expect(content({}, { rgPath: "/nowhere" })).rejects.toThrow();
      await expect(make().content(CONTENT, ME, AbortSignal.timeout(1))).rejects.toThrow();
    }
    await expect.poll(opened).toBeLessThanOrEqual(before + 2);
  });

  it("a missing program is told with the way to get it", async () => {
    put("a.txt", "needle");
    for (const rgPath of [join(base, "no-such-program"), join(workspace, "a.txt")]) {
      await expect(content({}, { rgPath })).rejects.toMatchObject({
        code: "unavailable",
        hint: /npm install/ as never,
      });
    }
  });

  it("FAIL-D5 an abandoned search ends at once and leaves no process", async () => {
    put("a.txt", "needle\n");
    const stuck = join(base, "stuck-rg");
    writeFileSync(stuck, "#!/bin/sh\nexec sleep 1234.5\n");
    chmodSync(stuck, 0o755);
    const search = make({ rgPath: stuck, timeoutMs: () => 60_000 });
    for (const begin of [
      (signal: AbortSignal) => search.content(CONTENT, ME, signal),
      (signal: AbortSignal) => search.names(NAMES, ME, signal),
    ]) {
      const controller = new AbortController();
      const work = begin(controller.signal);
      setTimeout(() => controller.abort(), 200);
      const start = performance.now();
      await expect(work).rejects.toMatchObject({ code: "cancelled" });
      expect(performance.now() - start).toBeLessThan(1200);
      await expect.poll(() => processes("1234.5")).toEqual([]);
      await expect(begin(controller.signal)).rejects.toMatchObject({ code: "cancelled" });
    }
    expect(stored).toEqual([]);
  });
});

const rg = (): string =>
  execFileSync(
    process.execPath,
    ["-p", "require('node:module').createRequire(process.cwd()+'/x')('@vscode/ripgrep').rgPath"],
    {
      encoding: "utf8",
    },
  ).trim();

const processes = (argument: string): string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument);
      } catch {
        return false;
      }
    });
