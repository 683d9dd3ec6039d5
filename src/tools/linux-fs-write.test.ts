import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("linux_fs_write", () => {
  test("REQ-T4 REQ-F2 REQ-M3: hybrid writes on a bare host: rewrite, append, new folders", async () => {
    const app = await openTestApp();
    expect(await app.ask("linux_fs_write", { path: "new/deep/a.txt", content: "héllo\n" })).toMatchObject({
      structured: { bytes_written: 7, new_sha256: sha("héllo\n") },
    });
    expect(
      await app.text("linux_fs_write", { path: "new/deep/a.txt", content: "more\n", mode: "append" }),
    ).toBe(`ok: 5 bytes, sha256 ${sha("héllo\nmore\n").slice(0, 12)}`);
    expect(readFileSync(join(app.root, "new/deep/a.txt"), "utf8")).toBe("héllo\nmore\n");
    await app.text("linux_fs_write", { path: "new/deep/a.txt", content: "" });
    expect(readFileSync(join(app.root, "new/deep/a.txt"), "utf8")).toBe("");
    expect(readdirSync(join(app.root, "new/deep"))).toEqual(["a.txt"]);
  });

  test("REQ-D6: the precondition: whole hash, shown digits, null, missing file, other content", async () => {
    const app = await openTestApp({ files: { "a.txt": "one" } });
    await app.text("linux_fs_write", { path: "a.txt", content: "two", expected_sha256: sha("one") });
    await app.text("linux_fs_write", {
      path: "a.txt",
      content: "three",
      expected_sha256: sha("two").slice(0, 12),
    });
    await app.text("linux_fs_write", { path: "a.txt", content: "four", expected_sha256: null });
    expect(
      await app.errorCode("linux_fs_write", { path: "a.txt", content: "x", expected_sha256: sha("one") }),
    ).toBe("SHA_MISMATCH");
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe("four");
    await app.text("linux_fs_write", { path: "new.txt", content: "n", expected_sha256: sha("whatever") });
    expect(readFileSync(join(app.root, "new.txt"), "utf8")).toBe("n");
  });

  test("REQ-D16 FAIL-A19: configuration, state and custom modules cannot be written, whatever the roots", async () => {
    const app = await openTestApp({
      config:
        '[mcp]\nmode = "hybrid"\n[mcp.tools]\nallowed_roots = ["/"]\ncustom_modules = "mods"\n[mcp.rag]\nembedder = "onnx"\nembedder_model = "./model"\n',
      files: { "mods/a.js": "export const register = () => {};" },
    });
    const before = readFileSync(join(app.root, "llmc.toml"), "utf8");
    for (const path of [
      "llmc.toml",
      "./x/../llmc.toml",
      ".llmc/token",
      ".llmc/new/x",
      "mods/a.js",
      "mods/evil.js",
      "mods/sub/evil.js",
      "model/node_modules/onnxruntime-node/index.js",
    ]) {
      // With the whole machine as a root, what makes folders waits for a scan that may take longer than a call.
      expect(await app.errorCode("linux_fs_write", { path, content: "evil" }), path).toMatch(
        /INVALID_PATH|BUSY/,
      );
    }
    expect(readFileSync(join(app.root, "llmc.toml"), "utf8")).toBe(before);
    expect(existsSync(join(app.root, "mods/evil.js"))).toBe(false);
    expect(existsSync(join(app.root, ".llmc/token"))).toBe(false);
    expect(
      await app.errorCode("linux_fs_edit", { path: "llmc.toml", old_text: "hybrid", new_text: "classic" }),
    ).toBe("INVALID_PATH");
  });

  test("FAIL-C10: files that git would run later are guarded", async () => {
    const app = await openTestApp({ files: { ".git/config": "[core]\n" } });
    expect(
      await app.errorCode("linux_fs_write", { path: ".git/config", content: "[core]\nfsmonitor = evil" }),
    ).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_write", { path: ".git/hooks/pre-commit", content: "evil" })).toBe(
      "INVALID_PATH",
    );
  });

  test("refusals: outside, a directory, bad arguments; a huge text is no problem", async () => {
    const app = await openTestApp({ files: { "d/a": "" } });
    expect(await app.errorCode("linux_fs_write", { path: "/etc/llmc-test", content: "" })).toBe(
      "INVALID_PATH",
    );
    expect(await app.errorCode("linux_fs_write", { path: "d", content: "" })).toBe("IS_DIRECTORY");
    expect(await app.errorCode("linux_fs_write", { path: "x", content: "", mode: "truncate" })).toBe(
      "INVALID_ARGS",
    );
    expect(await app.errorCode("linux_fs_write", { path: "x" })).toBe("INVALID_ARGS");
    await app.text("linux_fs_write", { path: "big.txt", content: "0123456789".repeat(400_000) });
    expect(readFileSync(join(app.root, "big.txt")).length).toBe(4_000_000);
  });
});

describe("linux_fs_edit", () => {
  test("REQ-F5: one edit, several edits, counted edits", async () => {
    const app = await openTestApp({ files: { "a.ts": "const a = 1;\nconst b = 2;\n", "x.txt": "x x x" } });
    expect(await app.text("linux_fs_edit", { path: "a.ts", old_text: "a = 1", new_text: "a = 10" })).toMatch(
      /^ok: 1 replaced, sha256 [0-9a-f]{12}\n@@ 1\n-const a = 1;\n\+const a = 10;$/,
    );
    await app.text("linux_fs_edit", {
      path: "a.ts",
      edits: [
        { old_text: "a = 10", new_text: "a = 100" },
        { old_text: "b = 2", new_text: "b = 20" },
      ],
    });
    await app.text("linux_fs_edit", {
      path: "x.txt",
      old_text: "x",
      new_text: "y",
      expected_replacements: 3,
    });
    expect(readFileSync(join(app.root, "a.ts"), "utf8")).toBe("const a = 100;\nconst b = 20;\n");
    expect(readFileSync(join(app.root, "x.txt"), "utf8")).toBe("y y y");
  });

  test("REQ-F5: all or nothing; not found and ambiguous say where", async () => {
    const text = "const total = 1;\nconst total = 1;\n";
    const app = await openTestApp({ files: { "a.ts": text } });
    const edits = [
      { old_text: "const total = 1;\nconst total = 1;", new_text: "gone" },
      { old_text: "not there at all", new_text: "" },
    ];
    expect(await app.errorCode("linux_fs_edit", { path: "a.ts", edits })).toBe("TEXT_NOT_FOUND");
    const ambiguous = await app.ask("linux_fs_edit", { path: "a.ts", old_text: "total", new_text: "sum" });
    expect(ambiguous).toMatchObject({
      body: {
        error: expect.stringContaining("lines 1, 2"),
        meta: { error_code: "TEXT_AMBIGUOUS", found: 2 },
      },
    });
    const missing = await app.ask("linux_fs_edit", {
      path: "a.ts",
      old_text: "const totl = 1;",
      new_text: "",
    });
    expect(missing).toMatchObject({
      body: { error: expect.stringContaining("from line 1:\nconst total = 1;") },
    });
    expect(readFileSync(join(app.root, "a.ts"), "utf8")).toBe(text);
  });

  test("FAIL-A16: a file that changed since it was read is not edited", async () => {
    const app = await openTestApp({ files: { "a.txt": "one two" } });
    writeFileSync(join(app.root, "a.txt"), "one three");
    expect(
      await app.errorCode("linux_fs_edit", {
        path: "a.txt",
        old_text: "one",
        new_text: "1",
        expected_sha256: sha("one two"),
      }),
    ).toBe("SHA_MISMATCH");
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe("one three");
  });

  test("FAIL-D3: both forms, neither form, empty text", async () => {
    const app = await openTestApp({ files: { "a.txt": "x" } });
    for (const args of [
      {},
      { old_text: "x" },
      { old_text: "x", new_text: "y", edits: [{ old_text: "x", new_text: "y" }] },
      { edits: [] },
      { old_text: "", new_text: "y" },
    ]) {
      expect(await app.errorCode("linux_fs_edit", { path: "a.txt", ...args })).toBe("INVALID_ARGS");
    }
    expect(await app.errorCode("linux_fs_edit", { path: "nope", old_text: "x", new_text: "y" })).toBe(
      "NOT_FOUND",
    );
  });
});
