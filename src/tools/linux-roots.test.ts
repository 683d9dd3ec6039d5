import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, tempWorkspace } from "../../test/app.ts";

const LOCAL_OWNER = { principal: "local" };

const CLASSIC = { "mcp.mode": "classic" };

describe("REQ-D15: the linux_* tools may have roots of their own", () => {
  test("left out, they are those of the other tools", async () => {
    const outside = tempWorkspace({ "x.txt": "x\n" });
    const app = await openTestApp({ overrides: { ...CLASSIC, "mcp.tools.allowed_roots": `.,${outside}` } });
    expect(await app.text("linux_fs_read", { path: join(outside, "x.txt") })).toContain("x");
    const { linux, files } = await app.engines();
    expect(linux().files).toBe(files);
  });

  test("written out, they hold for reading, writing, searching and processes, and for nobody else", async () => {
    const app = await openTestApp({
      files: { "a.txt": "zebra\n", "sub/b.txt": "zebra\n" },
      overrides: { ...CLASSIC, "mcp.linux_ops.roots.allowed_roots": "sub" },
    });
    expect(await app.text("linux_fs_read", { path: "sub/b.txt" })).toContain("zebra");
    expect(await app.errorCode("linux_fs_read", { path: "a.txt" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_write", { path: "new.txt", content: "x" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_search_content", { root: ".", pattern: "zebra" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_proc_start", { command: "ls", cwd: "." })).toBe("INVALID_PATH");
    expect(await app.text("read_file", { path: "a.txt" })).toContain("zebra");
    expect(await app.text("run_cmd", { command: "cat a.txt" })).toContain("zebra");
  });

  test("a handle is judged by the roots of the tool that reads it", async () => {
    const app = await openTestApp({
      files: { "a.txt": "zebra\n", "sub/b.txt": "zebra\n" },
      overrides: { ...CLASSIC, "mcp.linux_ops.roots.allowed_roots": "sub" },
    });
    const { handles } = await app.engines();
    const id = await handles.putFile(LOCAL_OWNER, "a.txt");
    expect(await app.errorCode("linux_handle_read", { handle: id })).toBe("INVALID_PATH");
    const near = await handles.putFile(LOCAL_OWNER, "sub/b.txt");
    expect(await app.text("linux_handle_read", { handle: near })).toContain("zebra");
  });

  test("an empty list denies", async () => {
    const app = await openTestApp({
      files: { "a.txt": "x\n" },
      overrides: { ...CLASSIC, "mcp.linux_ops.roots.allowed_roots": "" },
    });
    expect(await app.errorCode("linux_fs_read", { path: "a.txt" })).toBe("INVALID_PATH");
    expect(await app.text("read_file", { path: "a.txt" })).toContain("x");
  });

  test("enforce_roots = false opens the file system to them alone, and is announced", async () => {
    const outside = tempWorkspace({ "x.txt": "outside\n" });
    const app = await openTestApp({
      overrides: { ...CLASSIC, "mcp.linux_ops.roots.enforce_roots": "false" },
    });
    expect(await app.logs()).toContain("linux_* tools reach the whole file system");
    expect(await app.text("linux_fs_read", { path: join(outside, "x.txt") })).toContain("outside");
    expect(await app.errorCode("read_file", { path: join(outside, "x.txt") })).toBe("path_denied");
  });

  test("REQ-C5: they are hot", async () => {
    const app = await openTestApp({ files: { "a.txt": "x\n" }, config: '[mcp]\nmode = "classic"\n' });
    expect(await app.text("linux_fs_read", { path: "a.txt" })).toContain("x");
    mkdirSync(join(app.root, "sub"));
    writeFileSync(
      join(app.root, "llmc.toml"),
      '[mcp]\nmode = "classic"\n[mcp.linux_ops.roots]\nallowed_roots = ["sub"]\n',
    );
    await app.config.reload();
    expect(await app.errorCode("linux_fs_read", { path: "a.txt" })).toBe("INVALID_PATH");
  });
});
