import { createHash } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";

const classic = { overrides: { "mcp.mode": "classic" } };
const numbered = (count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");
const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("linux_fs_read", () => {
  test("REQ-T4 REQ-F1: the documented shape, with defaults", async () => {
    const text = numbered(300);
    const app = await openTestApp({ ...classic, files: { "a.txt": text } });
    const result = await app.ask("linux_fs_read", { path: "a.txt" });
    expect(result).toMatchObject({
      structured: {
        content: numbered(200),
        handle: expect.stringMatching(/^h_/),
        meta: {
          path: "a.txt",
          total_lines: 300,
          truncated: true,
          first_line: 1,
          lines: 200,
          sha256: sha(text),
        },
      },
    });
    expect(await app.text("linux_fs_read", { path: "a.txt", offset_lines: 298 })).toBe(
      "line 299\nline 300\n",
    );
    expect(await app.text("linux.fs_read", { path: "a.txt", max_lines: 1 })).toBe(
      "line 1\n[lines 1-1 of 300]",
    );
  });

  test("a small whole file is sent as it is; an empty one says so", async () => {
    const app = await openTestApp({ ...classic, files: { "a.txt": "one\n", "empty.txt": "" } });
    expect(await app.text("linux_fs_read", { path: "a.txt" })).toBe("one\n");
    expect(await app.ask("linux_fs_read", { path: "a.txt" })).toMatchObject({ structured: { handle: null } });
    expect(await app.text("linux_fs_read", { path: "empty.txt" })).toBe("[empty file]");
    expect(await app.text("linux_fs_read", { path: "a.txt", offset_lines: 9 })).toBe(
      "[no lines there: the file has 1]",
    );
  });

  test("unless_sha256 answers in a few tokens while the file is the same", async () => {
    const app = await openTestApp({ ...classic, files: { "big.txt": "words and more words\n".repeat(150) } });
    const first = await app.text("linux_fs_read", { path: "big.txt" });
    const shown = /\[sha256 ([0-9a-f]{12})\]$/.exec(first)?.[1] ?? "";
    expect(await app.text("linux_fs_read", { path: "big.txt", unless_sha256: shown })).toBe("[unchanged]");
    appendFileSync(join(app.root, "big.txt"), "new\n");
    expect(await app.text("linux_fs_read", { path: "big.txt", unless_sha256: shown })).toContain("new\n");
    expect(await app.errorCode("linux_fs_read", { path: "big.txt", unless_sha256: "xyz" })).toBe(
      "INVALID_ARGS",
    );
  });

  test("a part of a file carries the hash of the whole, so that it need not be sent again either", async () => {
    const app = await openTestApp({
      ...classic,
      files: { "big.txt": "words and more words\n".repeat(3000) },
    });
    const shown =
      /\[lines 1-200 of 3000; sha256 ([0-9a-f]{12})\]$/.exec(
        await app.text("linux_fs_read", { path: "big.txt" }),
      )?.[1] ?? "";
    expect(await app.text("linux_fs_read", { path: "big.txt", unless_sha256: shown })).toBe("[unchanged]");
  });

  test("tail_lines gives the end", async () => {
    const app = await openTestApp({
      ...classic,
      files: { "log.txt": numbered(5000), "bare.txt": "a\nb\nc", "crlf.txt": "a\r\nb\r\n" },
    });
    expect(await app.text("linux_fs_read", { path: "log.txt", tail_lines: 2 })).toBe(
      "line 4999\nline 5000\n",
    );
    expect(await app.text("linux_fs_read", { path: "bare.txt", tail_lines: 2 })).toBe("b\nc");
    expect(await app.text("linux_fs_read", { path: "bare.txt", tail_lines: 10 })).toBe("a\nb\nc");
    expect(await app.text("linux_fs_read", { path: "crlf.txt", tail_lines: 1 })).toBe("b\r\n");
  });

  test("FAIL-A14: the tail of a UTF-16 file, and of lines that are too long", async () => {
    const app = await openTestApp({
      ...classic,
      files: { "long.txt": `first\n${"x".repeat(200_000)}\nlast\n` },
    });
    expect(await app.text("linux_fs_read", { path: "long.txt", tail_lines: 2 })).toBe("last\n");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(join(app.root, "wide.txt"), Buffer.from(`\ufeff${numbered(50)}`, "utf16le"));
    expect(await app.text("linux_fs_read", { path: "wide.txt", tail_lines: 2 })).toMatch(
      /^line 49\nline 50\n/,
    );
  });

  test("REQ-D2: refusals with the family's codes", async () => {
    const app = await openTestApp({ ...classic, files: { ".env": "X=1", "d/a": "" } });
    expect(await app.errorCode("linux_fs_read", { path: "../x" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_read", { path: ".env" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_read", { path: "nope" })).toBe("NOT_FOUND");
    expect(await app.errorCode("linux_fs_read", { path: "d" })).toBe("IS_DIRECTORY");
    expect(await app.errorCode("linux_fs_read", { path: "d/a", max_lines: 2001 })).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_fs_read", { path: "d/a", offset_lines: -1 })).toBe("INVALID_ARGS");
  });
});
