import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { useStand, WAYS } from "../../../test/escapes/write-stand.ts";
import type { FileWrites } from "./contract.ts";

const { at, base, open, outside, put, read, refused } = useStand();

// Another disk than the temporary folder, on most Linux machines.
const OTHER_DISK = "/dev/shm";
const HAS_OTHER_DISK = existsSync(OTHER_DISK) && statSync(OTHER_DISK).dev !== statSync("/tmp").dev;

describe.each(WAYS)("REQ-F4 moving %s", (_way, locate) => {
  let writes: FileWrites;
  beforeEach(() => {
    writes = open({ locate });
  });

  it("moves a file, keeping its inode", async () => {
    const { ino } = lstatSync(at("src/a.txt"));
    expect(await writes.move("src/a.txt", "b.txt")).toEqual({ source: "src/a.txt", target: "b.txt" });
    expect(existsSync(at("src/a.txt"))).toBe(false);
    expect(lstatSync(at("b.txt"))).toMatchObject({ ino, nlink: 1 });
  });

  it("moves a directory with all that is in it", async () => {
    mkdirSync(at("src/deep/er"), { recursive: true });
    put("src/deep/er/f", "x");
    await writes.move("src", "lib");
    expect(read("lib/deep/er/f")).toBe("x");
    expect(existsSync(at("src"))).toBe(false);
  });

  it("moves a link and not what it leads to", async () => {
    symlinkSync("src/a.txt", at("link"));
    symlinkSync(outside(), at("out"));
    symlinkSync("nowhere", at("dangling"));
    for (const name of ["link", "out", "dangling"]) await writes.move(name, `${name}-moved`);
    expect(readlinkSync(at("link-moved"))).toBe("src/a.txt");
    expect(readlinkSync(at("out-moved"))).toBe(outside());
    expect(readlinkSync(at("dangling-moved"))).toBe("nowhere");
    expect(read("src/a.txt")).toBe("one\ntwo\n");
    expect(readdirSync(at()).filter((name) => !name.startsWith("."))).toHaveLength(4);
  });

  it("FAIL-A8 overwrites nothing", async () => {
    put("b.txt", "b");
    mkdirSync(at("dir"));
    symlinkSync("nowhere", at("dangling"));
    await refused(writes.move("src/a.txt", "b.txt"), "already_exists");
    expect(await refused(writes.move("src/a.txt", "dir"), "already_exists")).toContain("full target");
    await refused(writes.move("src", "dir"), "already_exists");
    await refused(writes.move("src/a.txt", "dangling"), "already_exists");
    expect(read("b.txt")).toBe("b");
    expect(read("src/a.txt")).toBe("one\ntwo\n");
  });

  it("FAIL-A8 not onto itself, not into itself, and no deadlock", async () => {
    symlinkSync("src", at("same"));
    await refused(writes.move("src/a.txt", "src/a.txt"), "invalid_args");
    await refused(writes.move("src/a.txt", "./same/../src/a.txt"), "invalid_args");
    await refused(writes.move("src/a.txt", "same/a.txt"), "invalid_args");
    await refused(writes.move("src", "src/inner"), "invalid_args");
    await refused(writes.move("src", "same/inner"), "invalid_args");
    // The other way round at the same time.
    put("x", "x");
    put("y", "y");
    const both = await Promise.allSettled([writes.move("x", "y"), writes.move("y", "x")]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });

  it("FAIL-A8 never a root, nor what holds one", async () => {
    mkdirSync(at("nested/root"), { recursive: true });
    mkdirSync(base("second"));
    symlinkSync(base("second"), at("second-link"));
    const wide = open({ locate, roots: () => [".", "nested/root", base(), "second-link"] });
    for (const path of [".", at(), "nested", "nested/root", base(), "/", base("second"), "second-link"]) {
      await refused(wide.move(path, "elsewhere"), "path_denied");
    }
    expect(existsSync(at("nested/root"))).toBe(true);
    expect(existsSync(at("elsewhere"))).toBe(false);
  });

  it("FAIL-A1 FAIL-A3 nothing comes in from outside, nothing goes out", async () => {
    symlinkSync(outside(), at("out"));
    await refused(writes.move("src/a.txt", "../app-secret/a.txt"), "path_denied");
    await refused(writes.move("src/a.txt", "out/a.txt"), "path_denied");
    await refused(writes.move("out/x", "x"), "path_denied");
    await refused(writes.move(outside("x"), "x"), "path_denied");
    expect(existsSync(at("x"))).toBe(false);
    expect(read("src/a.txt")).toBe("one\ntwo\n");
  });

  it("needs a source, and a directory at the target", async () => {
    expect(await refused(writes.move("src/a.tx", "b"), "file_not_found")).toContain(
      'Did you mean "src/a.txt"?',
    );
    expect(await refused(writes.move("src/a.txt", "no/b"), "file_not_found")).toContain("Make it first");
    await refused(writes.move("src/a.txt", "src/a.txt/b"), "not_a_directory");
  });

  it("REQ-F9 leaves pipes alone", async () => {
    execFileSync("mkfifo", [at("pipe")]);
    await refused(writes.move("pipe", "pipe2"), "path_denied");
  });

  it("REQ-D16 FAIL-A19 what is ours neither leaves nor is slipped in", async () => {
    mkdirSync(at("modules"));
    mkdirSync(at("sub/.llmc"), { recursive: true });
    mkdirSync(at("conf"));
    put("conf/policy.cedar", "p");
    put("llmc.toml", "x = 1");
    mkdirSync(at("evil"));
    put("evil/main.cedar", "permit all");
    symlinkSync("evil", at("evil-link"));
    mkdirSync(at(".llmc"), { recursive: true });
    const guarded = open({
      locate,
      obeyedPaths: () => ({ modules: ["modules"], config: ["conf/policy.cedar", "policies/main.cedar"] }),
    });
    for (const path of ["llmc.toml", "modules", "conf", "conf/policy.cedar", ".llmc", "sub", "sub/.llmc"]) {
      await refused(guarded.move(path, "elsewhere"), "path_denied");
    }
    for (const target of ["llmc.toml", "modules/m.ts", ".llmc/x", "policies"]) {
      await refused(guarded.move("src/a.txt", target), "path_denied");
      await refused(guarded.move("src", target), "path_denied");
      await refused(guarded.move("evil", target), "path_denied");
      await refused(guarded.move("evil-link", target), "path_denied");
    }
    expect(read("llmc.toml")).toBe("x = 1");
    expect(readdirSync(at("modules"))).toEqual([]);
  });

  it("FAIL-A10 a withheld file gets no readable name, by itself or with its directory", async () => {
    mkdirSync(at("home/.aws"), { recursive: true });
    put("home/.aws/credentials-file", "key");
    put("home/.aws/config", "key");
    put(".env", "A=1");
    put("src/.env", "A=1");
    await refused(writes.move(".env", "env.txt"), "path_denied");
    await refused(writes.move(".env", ".env2"), "path_denied");
    // Under `.aws` everything is withheld; elsewhere `config` would not be.
    expect(await refused(writes.move("home/.aws", "home/aws"), "path_denied")).toContain(
      '"config" in "home/.aws"',
    );
    // A command that is running finds it covered only where it was.
    expect(await refused(writes.move("src", "lib"), "path_denied")).toContain('".env" in "src"');
    await refused(writes.move("home", "house"), "path_denied");
    // A new name that is withheld is like a new secret.
    put("plain.txt", "B=2");
    await writes.move("plain.txt", "prod.env");
    expect(read("prod.env")).toBe("B=2");
  });

  it("FAIL-C10 no file becomes a hook or a git configuration by moving", async () => {
    mkdirSync(at(".git/hooks"), { recursive: true });
    mkdirSync(at("evil/hooks"), { recursive: true });
    put("evil/config", "[core] fsmonitor = touch /tmp/x");
    put("evil/hooks/pre-commit", "#!/bin/sh");
    mkdirSync(at("clone/.git"), { recursive: true });
    put("clone/.git/config", "[core]");
    await refused(writes.move("evil/config", ".git/config"), "path_denied");
    await refused(writes.move("evil/hooks/pre-commit", ".git/hooks/pre-commit"), "path_denied");
    await refused(writes.move("evil", "src/.git"), "path_denied");
    mkdirSync(at("fake/modules/m"), { recursive: true });
    put("fake/modules/m/config", "x");
    await refused(writes.move("fake/modules", ".git/modules"), "path_denied");
    await refused(writes.move(".git", "git"), "path_denied");
    // To a command that is running, a repository is read-only only where it was.
    expect(await refused(writes.move("clone", "moved"), "path_denied")).toContain('".git" in "clone"');
  });

  it("a hard link of the source is in the way like any other file", async () => {
    linkSync(at("src/a.txt"), at("same"));
    await refused(writes.move("src/a.txt", "same"), "already_exists");
    expect(lstatSync(at("same")).nlink).toBe(2);
  });
});

describe.runIf(HAS_OTHER_DISK)("REQ-F4 moving to another disk", () => {
  it("copies a file whole, a link as a link, and refuses a directory", async () => {
    const other = mkdtempSync(join(OTHER_DISK, "llmc-write-"));
    try {
      const writes = open({ roots: () => [".", other] });
      chmodSync(at("src/a.txt"), 0o750);
      const { mtimeMs } = statSync(at("src/a.txt"));
      symlinkSync("a.txt", at("src/link"));
      put("src/big", Buffer.alloc(3_000_000, 7));
      expect(await writes.move("src/a.txt", join(other, "a.txt"))).toEqual({
        source: "src/a.txt",
        target: join(other, "a.txt"),
      });
      await writes.move("src/link", join(other, "link"));
      await writes.move("src/big", join(other, "big"));
      expect(readFileSync(join(other, "a.txt"), "utf8")).toBe("one\ntwo\n");
      expect(readFileSync(join(other, "big"))).toEqual(Buffer.alloc(3_000_000, 7));
      expect(readlinkSync(join(other, "link"))).toBe("a.txt");
      expect(statSync(join(other, "a.txt")).mode & 0o777).toBe(0o750);
      expect(Math.abs(statSync(join(other, "a.txt")).mtimeMs - mtimeMs)).toBeLessThan(1);
      expect(readdirSync(at("src"))).toEqual([]);
      expect(readdirSync(other).sort()).toEqual(["a.txt", "big", "link"]);
      writeFileSync(at("src/b"), "b");
      await refused(writes.move("src/b", join(other, "a.txt")), "already_exists");
      expect(await refused(writes.move("src", join(other, "src")), "invalid_args")).toContain("one by one");
      expect(read("src/b")).toBe("b");
    } finally {
      rmSync(other, { recursive: true });
    }
  });
});
