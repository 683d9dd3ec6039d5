import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../../test/app.ts";

const open = (files: Readonly<Record<string, string>>): Promise<TestApp> =>
  openTestApp({ overrides: { "mcp.mode": "classic" }, files });

const copy = (app: TestApp, source: string, target: string, overwrite = false) =>
  app.ask("linux_fs_copy", { source, target, overwrite });

const refusal = (app: TestApp, source: string, target: string, overwrite = false) =>
  app.errorCode("linux_fs_copy", { source, target, overwrite });

describe("linux_fs_copy", () => {
  test("REQ-F4: a file, byte for byte, with its mode and the directories it lacks", async () => {
    const app = await open({});
    const bytes = Buffer.from([0, 255, 10, 128]);
    writeFileSync(join(app.root, "run"), bytes);
    chmodSync(join(app.root, "run"), 0o755);
    expect(await copy(app, "run", "bin/deep/run")).toMatchObject({
      structured: { ok: true, source: "run", target: "bin/deep/run", files: 1, bytes: 4, skipped: 0 },
      content: [{ text: "ok: 1 file" }],
    });
    expect(readFileSync(join(app.root, "bin/deep/run"))).toEqual(bytes);
    expect(statSync(join(app.root, "bin/deep/run")).mode & 0o777).toBe(0o755);
  });

  test("REQ-F4: a directory with everything in it; links are left out and counted", async () => {
    const app = await open({ "d/a.txt": "A", "d/e/b.txt": "B" });
    mkdirSync(join(app.root, "d/empty"));
    symlinkSync("a.txt", join(app.root, "d/link"));
    expect(await app.text("linux_fs_copy", { source: "d", target: "copy" })).toBe(
      "ok: 2 files; links left out: 1",
    );
    expect(readFileSync(join(app.root, "copy/e/b.txt"), "utf8")).toBe("B");
    expect(readdirSync(join(app.root, "copy")).toSorted()).toEqual(["a.txt", "e", "empty"]);
  });

  test("an empty file and an empty directory", async () => {
    const app = await open({ "empty.txt": "" });
    mkdirSync(join(app.root, "none"));
    expect(await app.text("linux_fs_copy", { source: "empty.txt", target: "x.txt" })).toBe("ok: 1 file");
    expect(readFileSync(join(app.root, "x.txt"), "utf8")).toBe("");
    expect(await app.text("linux_fs_copy", { source: "none", target: "other" })).toBe("ok: 0 files");
    expect(readdirSync(join(app.root, "other"))).toEqual([]);
  });

  test("FAIL-A8: nothing is overwritten unless it is asked for, and a directory never", async () => {
    const app = await open({ "a.txt": "A", "b.txt": "B", "d/c.txt": "C", "e/f.txt": "F" });
    expect(await refusal(app, "a.txt", "b.txt")).toBe("ALREADY_EXISTS");
    chmodSync(join(app.root, "b.txt"), 0o600);
    expect(await copy(app, "a.txt", "b.txt", true)).toMatchObject({ structured: { files: 1 } });
    expect(readFileSync(join(app.root, "b.txt"), "utf8")).toBe("A");
    expect(statSync(join(app.root, "b.txt")).mode & 0o777).toBe(0o600);
    expect(await refusal(app, "a.txt", "d", true)).toBe("IS_DIRECTORY");
    expect(await refusal(app, "d", "e", true)).toBe("ALREADY_EXISTS");
    expect(await refusal(app, "d", "d/inside")).toBe("INVALID_ARGS");
    expect(await refusal(app, "a.txt", "a.txt", true)).toBe("INVALID_ARGS");
    expect(await refusal(app, "missing", "x")).toBe("NOT_FOUND");
  });

  test("REQ-F11: a tree over the limit, or with one file that is refused, leaves nothing behind", async () => {
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`many/${i}`, ""]));
    const app = await open({ ...many, "d/a.txt": "A", "d/.env": "SECRET=1", "g/.git/config": "" });
    expect(await refusal(app, "many", "x")).toBe("INVALID_ARGS");
    expect(await refusal(app, "d", "x")).toBe("INVALID_PATH");
    expect(await refusal(app, "g", "x")).toBe("INVALID_PATH");
    expect(existsSync(join(app.root, "x"))).toBe(false);
  });

  test("FAIL-A10 REQ-D16: secrets, the outside and what nobody writes are refused, also by another name", async () => {
    const app = await open({ ".env": "SECRET=1", "a.txt": "A" });
    linkSync(join(app.root, ".env"), join(app.root, "harmless.txt"));
    symlinkSync("/etc/hostname", join(app.root, "out"));
    await app.text("run_cmd", { command: "ls" });
    for (const source of [
      ".env",
      "harmless.txt",
      "out",
      "/etc/hostname",
      ".llmc/state.db",
      "llmc.toml",
      ".",
    ]) {
      const result = await copy(app, source, "x.txt");
      expect(result, source).toMatchObject({ kind: "error", body: { meta: { error_code: "INVALID_PATH" } } });
      // The source is read: a message about changing it would send the caller to another tool.
      expect(JSON.stringify(result), source).not.toMatch(/chang|written|moved|remov/);
    }
    expect(JSON.stringify(await copy(app, ".env", "x.txt"))).toContain(
      "cannot be copied: it is on the denylist (mcp.tools.denylist_globs).",
    );
    for (const target of ["../x", "llmc.toml", ".git/hooks/pre-commit", ".llmc/x"])
      expect(await refusal(app, "a.txt", target), target).toBe("INVALID_PATH");
    expect(existsSync(join(app.root, "x.txt"))).toBe(false);
  });
});
