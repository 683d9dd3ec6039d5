import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { FileWrites } from "../../src/host/write/contract.ts";
import { runOnMount } from "./mount-namespace.ts";
import { sha, useStand, WAYS } from "./write-stand.ts";

const { at, base, open, outside, put, read, refused } = useStand();

describe.each(WAYS)("what may not be written, %s", (_way, locate) => {
  let writes: FileWrites;
  beforeEach(() => {
    writes = open({ locate });
  });

  describe("links and odd things", () => {
    it("REQ-F2 a link inside is written through: its target is rewritten, the link stays", async () => {
      symlinkSync("src/a.txt", at("link"));
      symlinkSync("link", at("chain"));
      symlinkSync("src", at("dir-link"));
      expect(await writes.rewrite("chain", "1")).toMatchObject({ path: "src/a.txt", created: false });
      expect(await writes.append("link", "2")).toMatchObject({ path: "src/a.txt" });
      expect(await writes.update("dir-link/a.txt", (text) => `${text}3`)).toMatchObject({
        path: "src/a.txt",
      });
      expect(await writes.rewrite("dir-link/b.txt", "b")).toMatchObject({ path: "src/b.txt", created: true });
      expect(readlinkSync(at("chain"))).toBe("link");
      expect(read("src/a.txt")).toBe("123");
    });

    it("FAIL-A3 a link that leads out, or to nothing, is refused and nothing appears", async () => {
      symlinkSync(outside("x"), at("out"));
      symlinkSync(outside("new"), at("dangling-out"));
      symlinkSync("dangling-out", at("chain"));
      symlinkSync(outside(), at("dir-out"));
      symlinkSync("nothing", at("dangling-in"));
      symlinkSync("loop-b", at("loop-a"));
      symlinkSync("loop-a", at("loop-b"));
      symlinkSync("/dev/zero", at("zero"));
      symlinkSync("/proc/self/environ", at("environ"));
      const paths = [
        "out",
        "dangling-out",
        "chain",
        "dir-out/x",
        "dir-out/new",
        "dangling-in",
        "loop-a",
        "zero",
        "environ",
      ];
      for (const path of paths) {
        await refused(writes.rewrite(path, "x"), "path_denied");
        await refused(writes.append(path, "x"), "path_denied");
        await refused(
          writes.update(path, () => "x"),
          "path_denied",
        );
      }
      // What exists outside does not show.
      const there = await refused(writes.rewrite("out", "x"), "path_denied");
      const missing = await refused(writes.rewrite("dangling-out", "x"), "path_denied");
      expect(missing.replace("dangling-out", "out")).toBe(there);
      expect(existsSync(at("nothing"))).toBe(false);
    });

    it("FAIL-A1 FAIL-A2 paths outside are refused, odd names are names", async () => {
      const long = "n".repeat(256);
      const bad = [
        "..",
        "../app-secret/new",
        "src/../../app-secret/x",
        outside("new"),
        "/etc/llmc-test",
        base("app-secret2"),
        "a\0b",
        "",
        long,
        "d/".repeat(2100),
      ];
      for (const path of bad) {
        await refused(writes.rewrite(path, "x"), "path_denied");
        await refused(writes.append(path, "x"), "path_denied");
      }
      const odd = ["~", "%2e%2e", "a\\b", "dot.", "space ", "-rf", "new\nline", "ünï", "n".repeat(255)];
      for (const path of odd) await writes.rewrite(path, path);
      for (const path of odd) expect(read(path)).toBe(path);
      await refused(writes.rewrite("file:///etc/passwd", "x"), "file_not_found");
    });

    it("FAIL-A9 no roots, no writes", async () => {
      const rootless = open({ locate, roots: () => [] });
      await refused(rootless.rewrite("x", "x"), "path_denied");
      await refused(rootless.makeDirs("x", { existOk: true }), "path_denied");
      await refused(rootless.remove("src", { recursive: true }), "path_denied");
    });

    it("FAIL-A6 REQ-F9 a pipe, a socket and a device are refused at once", async () => {
      execFileSync("mkfifo", [at("pipe")]);
      symlinkSync("pipe", at("pipe-link"));
      const server = createServer().listen(at("socket"));
      await new Promise((resolve) => server.once("listening", resolve));
      try {
        const started = performance.now();
        for (const path of ["pipe", "pipe-link", "socket"]) {
          await refused(writes.append(path, "x"), "path_denied");
          await refused(writes.rewrite(path, "x"), "path_denied");
          await refused(
            writes.update(path, (text) => text),
            "path_denied",
          );
        }
        expect(performance.now() - started).toBeLessThan(1000);
      } finally {
        await new Promise((resolve) => server.close(resolve));
      }
    });
  });

  describe("what is not the caller's", () => {
    it("REQ-D16 FAIL-A19 the configuration, the state, policies and modules stay as they are", async () => {
      mkdirSync(at(".llmc"));
      put(".llmc/http-token", "t");
      mkdirSync(at("modules"));
      put("modules/m.ts", "code");
      mkdirSync(at("conf"));
      put("conf/real.toml", "x = 1");
      symlinkSync("conf/real.toml", at("llmc.toml"));
      symlinkSync("modules", at("mods"));
      symlinkSync(".llmc", at("state"));
      linkSync(at("conf/real.toml"), at("hard"));
      const guarded = open({
        locate,
        obeyedPaths: () => ({ modules: ["modules"], config: ["policies/main.cedar"] }),
      });
      const paths = [
        "llmc.toml",
        "conf/real.toml",
        ".llmc/http-token",
        ".llmc/new",
        ".llmc",
        "modules/m.ts",
        "modules/new.ts",
        "mods/new.ts",
        "state/new",
        "policies/main.cedar",
      ];
      mkdirSync(at("policies"));
      for (const path of paths) {
        await refused(guarded.rewrite(path, "x"), "path_denied");
        await refused(guarded.append(path, "x"), "path_denied");
        await refused(
          guarded.update(path, () => "x"),
          "path_denied",
        );
      }
      // By another name of the same file.
      await refused(guarded.append("hard", "x"), "path_denied");
      expect(read("conf/real.toml")).toBe("x = 1");
      expect(readdirSync(at("modules"))).toEqual(["m.ts"]);
      // Where there is no configuration file yet, none appears.
      unlinkSync(at("llmc.toml"));
      await refused(open({ locate }).rewrite("llmc.toml", "x"), "path_denied");
      expect(existsSync(at("llmc.toml"))).toBe(false);
    });

    it("FAIL-C10 REQ-D12 what git turns into commands is not written", async () => {
      mkdirSync(at(".git/hooks"), { recursive: true });
      mkdirSync(at(".git/modules/a/hooks"), { recursive: true });
      put(".git/config", "[core]");
      symlinkSync(".git/config", at("innocent"));
      const paths = [
        ".git/config",
        "innocent",
        ".git/hooks/pre-commit",
        ".git/modules/a/config",
        ".git/modules/a/hooks/x",
        "src/.git",
      ];
      for (const path of paths) {
        await refused(writes.rewrite(path, "x"), "path_denied");
        await refused(writes.append(path, "x"), "path_denied");
      }
      await refused(writes.rewrite(".git/info-note", "x"), "path_denied");
    });

    it("FAIL-A10 a secret may be created, never overwritten or extended", async () => {
      expect(await writes.rewrite(".env", "A=1")).toMatchObject({ created: true });
      symlinkSync(".env", at("plain"));
      for (const path of [".env", "plain"]) {
        await refused(writes.rewrite(path, "x"), "path_denied");
        await refused(writes.append(path, "x"), "path_denied");
        await refused(writes.rewrite(path, "x", { expectedSha256: sha("A=1") }), "path_denied");
        await refused(
          writes.update(path, () => "x"),
          "path_denied",
        );
      }
      expect(read(".env")).toBe("A=1");
    });
  });
});

it("FAIL-D7 a disk that is full or read-only: a clear error, the old file whole, nothing stray", () => {
  const disk = base("disk");
  mkdirSync(disk);
  const script = join(import.meta.dirname, "full-disk-main.ts");
  const command = [process.execPath, "--disable-warning=ExperimentalWarning", script, at(), disk];
  expect(JSON.parse(runOnMount('mount -t tmpfs -o size=64k none "$0"', disk, command))).toEqual({
    full: {
      rewrite: "write_failed",
      append: "write_failed",
      create: "write_failed",
      left: ["f"],
      content: "old",
    },
    readOnly: {
      rewrite: "permission_denied",
      append: "permission_denied",
      remove: "permission_denied",
      makeDirs: "permission_denied",
    },
  });
});
