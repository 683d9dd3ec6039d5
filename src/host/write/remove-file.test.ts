import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { useStand, WAYS } from "../../../test/escapes/write-stand.ts";
import type { FileWrites } from "./contract.ts";

const { at, base, open, outside, put, read, refused } = useStand();
const DEEP = { recursive: true };
const FLAT = { recursive: false };

describe.each(WAYS)("REQ-F4 removing %s", (_way, locate) => {
  let writes: FileWrites;
  beforeEach(() => {
    writes = open({ locate });
  });

  it("removes a file, and a directory only when asked", async () => {
    mkdirSync(at("empty"));
    await refused(writes.remove("src", FLAT), "is_directory");
    await refused(writes.remove("empty", FLAT), "is_directory");
    expect(await writes.remove("src/a.txt", FLAT)).toEqual({ path: "src/a.txt", removed: 1 });
    expect(await writes.remove("src", DEEP)).toEqual({ path: "src", removed: 1 });
    expect(existsSync(at("src"))).toBe(false);
    expect(await refused(writes.remove("src", DEEP), "file_not_found")).not.toContain("undefined");
  });

  it("removes a tree of all kinds, and counts", async () => {
    mkdirSync(at("tree/a/b/c"), { recursive: true });
    for (let i = 0; i < 300; i++) put(`tree/a/f${i}`, "");
    put("tree/a/b/c/deep", "");
    writeFileSync(Buffer.concat([Buffer.from(at("tree/a/")), Buffer.from([0xff, 0xfe, 0x41])]), "");
    mkdirSync(Buffer.concat([Buffer.from(at("tree/")), Buffer.from([0xc3, 0x28])]));
    writeFileSync(
      Buffer.concat([Buffer.from(at("tree/")), Buffer.from([0xc3, 0x28]), Buffer.from("/x")]),
      "",
    );
    execFileSync("mkfifo", [at("tree/pipe")]);
    symlinkSync(outside(), at("tree/out"));
    symlinkSync(at("src"), at("tree/in"));
    expect(await writes.remove("tree", DEEP)).toEqual({ path: "tree", removed: 311 });
    expect(existsSync(at("tree"))).toBe(false);
    expect(readdirSync(outside())).toEqual(["x"]);
    expect(read("src/a.txt")).toBe("one\ntwo\n");
  });

  it("FAIL-A7 removes a link and never its target", async () => {
    symlinkSync("src", at("dir-link"));
    symlinkSync(outside(), at("out-link"));
    symlinkSync(outside("x"), at("file-link"));
    symlinkSync("nowhere", at("dangling"));
    expect(await writes.remove("dir-link", DEEP)).toEqual({ path: "dir-link", removed: 1 });
    expect(await writes.remove("out-link/", DEEP)).toEqual({ path: "out-link", removed: 1 });
    expect(await writes.remove("file-link", FLAT)).toEqual({ path: "file-link", removed: 1 });
    expect(await writes.remove("dangling", FLAT)).toEqual({ path: "dangling", removed: 1 });
    expect(read("src/a.txt")).toBe("one\ntwo\n");
    expect(readdirSync(outside())).toEqual(["x"]);
  });

  it("FAIL-A8 never a root, `/`, or what holds a root", async () => {
    mkdirSync(at("nested/root"), { recursive: true });
    symlinkSync(base(), at("up"));
    mkdirSync(base("second"));
    symlinkSync(base("second"), at("second-link"));
    const wide = open({ locate, roots: () => [".", "nested/root", base(), "second-link", "/"] });
    for (const path of [
      ".",
      "",
      at(),
      "nested",
      "nested/root",
      base(),
      "/",
      "//",
      "up/app",
      base("second"),
      "second-link",
    ]) {
      await refused(wide.remove(path, DEEP), "path_denied");
    }
    await refused(writes.remove("..", DEEP), "path_denied");
    await refused(writes.remove(outside("x"), DEEP), "path_denied");
    expect(existsSync(at("nested/root"))).toBe(true);
    expect(realpathSync(at("second-link"))).toBe(base("second"));
  });

  it("REQ-D16 FAIL-A19 refuses what is ours, also with a directory around it, before anything goes", async () => {
    mkdirSync(at("conf/a"), { recursive: true });
    put("conf/a/first", "");
    put("conf/policy.cedar", "p");
    mkdirSync(at("modules"));
    mkdirSync(at("sub/deep/.llmc"), { recursive: true });
    put("sub/deep/other", "");
    put("llmc.toml", "");
    mkdirSync(at(".llmc"), { recursive: true });
    const guarded = open({
      locate,
      obeyedPaths: () => ({ modules: ["modules"], config: ["conf/policy.cedar"] }),
    });
    for (const path of [
      "llmc.toml",
      ".llmc",
      "modules",
      "conf",
      "conf/policy.cedar",
      "sub",
      "sub/deep",
      "sub/deep/.llmc",
    ]) {
      await refused(guarded.remove(path, DEEP), "path_denied");
    }
    expect(existsSync(at("conf/a/first"))).toBe(true);
    expect(existsSync(at("sub/deep/other"))).toBe(true);
  });

  it("FAIL-A10 refuses a withheld file, also inside a directory, before anything goes", async () => {
    mkdirSync(at("build/a"), { recursive: true });
    put("build/a/first", "");
    put("build/.env", "A=1");
    await refused(writes.remove("build/.env", FLAT), "path_denied");
    expect(await refused(writes.remove("build", DEEP), "path_denied")).toContain('".env" in "build"');
    expect(readdirSync(at("build")).sort()).toEqual([".env", "a"]);
    // A directory of such a name is no secret, a link holds none, and a word in a name deep down is likely an accident.
    mkdirSync(at("js-tokens"));
    put("js-tokens/tokens.js.map", "");
    await refused(writes.remove("js-tokens/tokens.js.map", FLAT), "path_denied");
    put("js-tokens/index.js", "");
    symlinkSync("build/.env", at("js-tokens/.env"));
    expect(await writes.remove("js-tokens", DEEP)).toMatchObject({ removed: 4 });
    expect(read("build/.env")).toBe("A=1");
  });

  it("FAIL-C10 refuses a hook and git's configuration, but not a whole clone", async () => {
    mkdirSync(at("clone/.git/hooks"), { recursive: true });
    put("clone/.git/config", "");
    put("clone/.git/hooks/pre-commit", "");
    for (const path of [
      "clone/.git",
      "clone/.git/config",
      "clone/.git/hooks",
      "clone/.git/hooks/pre-commit",
    ]) {
      await refused(writes.remove(path, DEEP), "path_denied");
    }
    expect(await writes.remove("clone", DEEP)).toMatchObject({ removed: 5 });
  });

  it("removes a pipe without opening it", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    expect(await writes.remove("pipe", FLAT)).toMatchObject({ removed: 1 });
  });

  it("FAIL-D5 stops when the call is over", async () => {
    mkdirSync(at("big"));
    for (let i = 0; i < 800; i++) put(`big/${i}`, "");
    const control = new AbortController();
    const work = writes.remove("big", DEEP, control.signal);
    setTimeout(() => control.abort(), 2);
    await refused(work, "cancelled");
    expect(existsSync(at("big"))).toBe(true);
  });

  it("FAIL-D6 lets others work meanwhile", async () => {
    mkdirSync(at("big"));
    for (let i = 0; i < 800; i++) put(`big/${i}`, "");
    let turns = 0;
    let next = setImmediate(function count() {
      turns++;
      next = setImmediate(count);
    });
    expect(await writes.remove("big", DEEP)).toMatchObject({ removed: 801 });
    clearImmediate(next);
    // Others have their turn after every 128 entries, both while the tree is judged and while it is removed.
    expect(turns).toBeGreaterThanOrEqual(12);
  });

  it("refuses a tree that is too deep as a whole, and takes it in parts", async () => {
    const names = Array.from({ length: 300 }, () => "d");
    mkdirSync(at(...names), { recursive: true });
    await refused(writes.remove("d", DEEP), "invalid_args");
    expect(lstatSync(at(...names)).isDirectory()).toBe(true);
    expect(await writes.remove(names.slice(0, 100).join("/"), DEEP)).toMatchObject({ removed: 201 });
    expect(await writes.remove("d", DEEP)).toMatchObject({ removed: 99 });
  });
});
