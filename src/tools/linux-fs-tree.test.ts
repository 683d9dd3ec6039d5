import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, tempWorkspace } from "../../test/app.ts";

const classic = { overrides: { "mcp.mode": "classic" } };

describe("linux_fs_list", () => {
  test("REQ-T4 REQ-F3: depth, hidden files, globs, in the documented shape", async () => {
    const app = await openTestApp({
      ...classic,
      files: { "a/b/c/d.txt": "", "a/x.ts": "12345", ".hidden/y": "", "z.ts": "" },
    });
    expect(await app.text("linux_fs_list", { path: "." })).toBe("a/\n b/\n  c/\n x.ts\nz.ts");
    expect(await app.text("linux_fs_list", { path: ".", depth: 0 })).toBe("a/\nz.ts");
    expect(await app.text("linux_fs_list", { path: ".", depth: 0, include_hidden: true })).toBe(
      ".hidden/\na/\nz.ts",
    );
    expect(await app.text("linux_fs_list", { path: ".", depth: 10, file_glob: "*.ts" })).toBe(
      "a/\n x.ts\nz.ts",
    );
    const result = await app.ask("linux_fs_list", { path: "a", depth: 0 });
    expect(result).toMatchObject({
      structured: {
        entries: [
          { path: "b", type: "dir" },
          { path: "x.ts", type: "file", size_bytes: 5, mtime_iso: expect.stringMatching(/^\d{4}-.*Z$/) },
        ],
        truncated: false,
        handle: null,
      },
    });
  });

  test("REQ-F3: more than 500 entries come with a handle to all of them", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 700 }, (_, i) => [`d/f${String(i).padStart(3, "0")}`, ""]),
    );
    const app = await openTestApp({ ...classic, files });
    const text = await app.text("linux_fs_list", { path: "d" });
    const handle = /\[500 of 700 entries; all: handle:(h_\w+)\]$/.exec(text)?.[1] ?? "";
    expect(await app.text("linux_handle_read", { handle, offset_lines: 698 })).toBe("f698\nf699\n");
    expect(await app.text("read_file", { path: `handle:${handle}`, offset: 699 })).toBe("f699\n");
  });

  test("refusals and the empty case; links are listed and not entered", async () => {
    const outside = tempWorkspace({ "secret.txt": "" });
    const app = await openTestApp({ ...classic, files: { "a.txt": "" } });
    symlinkSync(outside, join(app.root, "link"));
    expect(await app.text("linux_fs_list", { path: ".", depth: 5 })).toBe("a.txt\nlink");
    expect(await app.errorCode("linux_fs_list", { path: "link" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_list", { path: "a.txt" })).toBe("NOT_A_DIRECTORY");
    expect(await app.errorCode("linux_fs_list", { path: ".", depth: 11 })).toBe("INVALID_ARGS");
    expect(await app.text("linux_fs_list", { path: ".", file_glob: "*.nothing" })).toBe("[empty]");
  });
});

describe("move, delete, mkdirs", () => {
  test("REQ-T4 REQ-F4: success, in the documented shapes", async () => {
    const app = await openTestApp({ ...classic, files: { "a.txt": "A", "d/e/f": "" } });
    expect(await app.ask("linux_fs_mkdirs", { path: "x/y/z" })).toMatchObject({
      structured: { ok: true, path: "x/y/z", created: true },
    });
    expect(await app.text("linux_fs_mkdir", { path: "x/y/z" })).toBe("ok: already exists");
    expect(await app.ask("linux_fs_move", { source: "a.txt", target: "x/b.txt" })).toMatchObject({
      structured: { ok: true, source: "a.txt", target: "x/b.txt" },
    });
    expect(readFileSync(join(app.root, "x/b.txt"), "utf8")).toBe("A");
    expect(await app.text("linux_fs_delete", { path: "x/b.txt" })).toBe("ok");
    expect(await app.text("linux_fs_delete", { path: "d", recursive: true })).toMatch(/^ok: 3 removed$/);
    expect(existsSync(join(app.root, "d"))).toBe(false);
  });

  test("FAIL-A8: roots, the workspace, overwriting, into itself", async () => {
    const app = await openTestApp({ ...classic, files: { "a.txt": "A", "b.txt": "B", "d/e": "" } });
    expect(await app.errorCode("linux_fs_delete", { path: ".", recursive: true })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_delete", { path: "/", recursive: true })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_delete", { path: "d" })).toBe("IS_DIRECTORY");
    expect(await app.errorCode("linux_fs_move", { source: "a.txt", target: "b.txt" })).toBe("ALREADY_EXISTS");
    expect(await app.errorCode("linux_fs_move", { source: "a.txt", target: "a.txt" })).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_fs_move", { source: "d", target: "d/e2" })).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_fs_move", { source: "nope", target: "x" })).toBe("NOT_FOUND");
    expect(await app.errorCode("linux_fs_mkdirs", { path: "d", exist_ok: false })).toBe("ALREADY_EXISTS");
    expect(await app.errorCode("linux_fs_mkdirs", { path: "../x" })).toBe("INVALID_PATH");
    expect(readFileSync(join(app.root, "b.txt"), "utf8")).toBe("B");
  });

  test("FAIL-A7: deleting a link leaves its target", async () => {
    const app = await openTestApp({ ...classic, files: { "d/keep.txt": "K" } });
    symlinkSync("d", join(app.root, "link"));
    await app.text("linux_fs_delete", { path: "link" });
    expect(existsSync(join(app.root, "d/keep.txt"))).toBe(true);
    expect(existsSync(join(app.root, "link"))).toBe(false);
  });
});

describe("repo_read and repo_write_patch", () => {
  test("REQ-T2: repo_read joins root and path and is bounded", async () => {
    const app = await openTestApp({ ...classic, files: { "repo/src/a.ts": "abc\ndef\n" } });
    expect(await app.ask("repo_read", { root: "repo", path: "src/a.ts" })).toMatchObject({
      structured: { data: "abc\ndef\n", meta: { path: "repo/src/a.ts", length: 8, truncated: false } },
    });
    expect(await app.text("repo_read", { path: "repo/src/a.ts", max_bytes: 4 })).toBe(
      "abc\n[cut: the file has 8 bytes]",
    );
    expect(await app.errorCode("repo_read", { root: "repo", path: "../../x" })).toBe("path_denied");
  });

  const PATCH =
    "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+made\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";

  test("REQ-T2 REQ-F11: update, create and delete in one patch; a dry run writes nothing", async () => {
    const app = await openTestApp({ ...classic, files: { "a.txt": "one\ntwo\n", "old.txt": "bye\n" } });
    expect(await app.text("repo_write_patch", { patch: PATCH, dry_run: true })).toBe(
      "fits: a.txt, new.txt (create), old.txt (delete)",
    );
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe("one\ntwo\n");
    expect(existsSync(join(app.root, "new.txt"))).toBe(false);
    expect(await app.text("repo_write_patch", { patch: PATCH })).toBe(
      "ok: a.txt, new.txt (create), old.txt (delete)",
    );
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe("one\nTWO\n");
    expect(readFileSync(join(app.root, "new.txt"), "utf8")).toBe("made\n");
    expect(existsSync(join(app.root, "old.txt"))).toBe(false);
  });

  test("REQ-F11: the answer says where a hunk went that is not where @@ says, in a dry run too", async () => {
    const text = (count: number): string =>
      Array.from({ length: 60 }, (_, i) => (i < count ? `new ${i}\n` : `line ${i - count + 1}\n`)).join("");
    const hunk = (line: number): string => `@@ -${line} +${line} @@\n-line ${line}\n+LINE ${line}\n`;
    const app = await openTestApp({ ...classic, files: { "a.txt": text(0), "b.txt": text(17) } });
    const inA = `--- a/a.txt\n+++ b/a.txt\n${hunk(3)}${hunk(9)}@@ @@\n-line 20\n+LINE 20\n`;
    const inB = `--- a/b.txt\n+++ b/b.txt\n${hunk(3)}${hunk(9)}${hunk(40)}`;
    const moves = "a.txt (hunk 3: line 20), b.txt (hunks 1–3: line 3 → 20 …)";
    const patch = inA + inB;
    expect(await app.text("repo_write_patch", { patch, dry_run: true })).toBe(`fits: ${moves}`);
    expect(await app.ask("repo_write_patch", { patch })).toMatchObject({
      structured: {
        data: {
          files: [
            { path: "a.txt", hunks: 3, moved: [{ hunk: 3, to: 20 }] },
            {
              path: "b.txt",
              hunks: 3,
              moved: [{ hunk: 1, from: 3, to: 20 }, { hunk: 2 }, { hunk: 3, from: 40, to: 57 }],
            },
          ],
        },
      },
    });
    expect(readFileSync(join(app.root, "b.txt"), "utf8").split("\n")[56]).toBe("LINE 40");
    const one = `--- a/a.txt\n+++ b/a.txt\n${hunk(1)}@@ -40 +40 @@\n-line 57\n+moved\n`;
    expect(await app.text("repo_write_patch", { patch: one })).toBe("ok: a.txt (hunk 2: line 40 → 57)");
    // In a new file there is no other line to go to.
    const created = "--- /dev/null\n+++ b/c.txt\n@@ -1,0 +1 @@\n+made\n";
    expect(await app.text("repo_write_patch", { patch: created })).toBe("ok: c.txt (create)");
  });

  test("REQ-F11: one file that does not fit, and nothing is written anywhere", async () => {
    const app = await openTestApp({
      ...classic,
      files: { "a.txt": "one\ntwo\n", "old.txt": "bye, with more\n" },
    });
    expect(await app.errorCode("repo_write_patch", { patch: PATCH })).toBe("text_not_found");
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe("one\ntwo\n");
    expect(existsSync(join(app.root, "new.txt"))).toBe(false);
    expect(await app.errorCode("repo_write_patch", { patch: "no patch" })).toBe("invalid_args");
    expect(
      await app.errorCode("repo_write_patch", {
        patch: "--- a/../../etc/x\n+++ b/../../etc/x\n@@ -0,0 +1 @@\n+x\n",
      }),
    ).toBe("path_denied");
    expect(
      await app.errorCode("repo_write_patch", {
        patch: "--- /dev/null\n+++ b/llmc.toml\n@@ -0,0 +1 @@\n+x\n",
      }),
    ).toBe("path_denied");
  });
});
