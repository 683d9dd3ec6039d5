import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, tempWorkspace } from "../../test/app.ts";

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");

describe("read_file", () => {
  test("REQ-T1 REQ-D13: text is the file's own; the structured form has data and meta", async () => {
    const app = await openTestApp({ files: { "a.txt": "one\ntwo\n" } });
    const result = await app.ask("read_file", { path: "a.txt" });
    expect(result).toMatchObject({
      kind: "ok",
      content: [{ type: "text", text: "one\ntwo\n" }],
      structured: {
        data: "one\ntwo\n",
        meta: { path: "a.txt", length: 8, truncated: false, total_lines: 2 },
      },
    });
  });

  test("an empty file and a slice past the end say so", async () => {
    const app = await openTestApp({ files: { "empty.txt": "", "a.txt": "one\n" } });
    expect(await app.text("read_file", { path: "empty.txt" })).toBe("[empty file]");
    expect(await app.text("read_file", { path: "a.txt", offset: 5 })).toBe(
      "[no lines there: the file has 1]",
    );
  });

  test("REQ-D17: a handle without its first part is told how handles are written", async () => {
    const app = await openTestApp({ files: { h_abcdefghijkl: "a file\n" } });
    expect(await app.text("read_file", { path: "h_abcdefghijkl" })).toBe("a file\n");
    expect(await app.ask("read_file", { path: "h_abcdefghijk2" })).toMatchObject({
      body: {
        error: expect.stringContaining("A handle is written handle:h_abcdefghijk2."),
        meta: { error_code: "file_not_found" },
      },
    });
  });

  test("REQ-F1: a long file comes in parts that join to the whole", async () => {
    const whole = numbered(2500);
    const app = await openTestApp({ files: { "long.txt": whole } });
    const first = await app.text("read_file", { path: "long.txt" });
    // About 2,000 tokens; who reads on gets more at once.
    expect(Buffer.byteLength(first)).toBeLessThan(8300);
    expect(first).toMatch(/\[more: offset \d+; file has \d+ bytes\]$/);
    const parts: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const result = await app.ask("read_file", { path: "long.txt", offset });
      if (result.kind !== "ok") throw new Error("refused");
      const { data, meta } = result.structured as { data: string; meta: { next_offset?: number } };
      parts.push(data);
      offset = meta.next_offset;
    }
    expect(parts).toHaveLength(3);
    expect(parts.join("")).toBe(whole);
  });

  test("REQ-F1: a file of some 4,000 tokens comes whole, and as many lines as were asked for", async () => {
    const app = await openTestApp({ files: { "a.txt": numbered(1200), "long.txt": numbered(2500) } });
    expect(await app.text("read_file", { path: "a.txt", limit: 10_000 })).toContain(numbered(1200));
    const whole = numbered(900);
    writeFileSync(join(app.root, "b.txt"), whole);
    expect(await app.text("read_file", { path: "b.txt" })).toContain(whole);
    expect(await app.text("read_file", { path: "long.txt", limit: 2000 })).toContain(numbered(2000));
  });

  test("REQ-T1 REQ-D13: an unchanged file is not paid for twice", async () => {
    const app = await openTestApp({ files: { "big.txt": "words and more words\n".repeat(150) } });
    const first = await app.text("read_file", { path: "big.txt" });
    const shown = /\n\[sha256 ([0-9a-f]{12})\]$/.exec(first)?.[1] ?? "";
    expect(await app.text("read_file", { path: "big.txt", unless_sha256: shown })).toBe("[unchanged]");
    writeFileSync(join(app.root, "big.txt"), "new\n");
    expect(await app.text("read_file", { path: "big.txt", unless_sha256: shown })).toBe("new\n");
    expect(await app.errorCode("read_file", { path: "big.txt", unless_sha256: "xyz" })).toBe("invalid_args");
  });

  test("REQ-F1: a file of one long line comes in parts that join to the whole", async () => {
    const whole = `first\n${"é1".repeat(50_000)}\nlast\n`;
    const app = await openTestApp({ files: { "min.js": whole } });
    const parts: string[] = [];
    for (let from: object | undefined = {}; from !== undefined; ) {
      const result = await app.ask("read_file", { path: "min.js", ...from });
      if (result.kind !== "ok") throw new Error("refused");
      const { data, meta } = result.structured as {
        data: string;
        meta: { next_offset?: number; next_offset_bytes?: number };
      };
      parts.push(data);
      from =
        meta.next_offset_bytes !== undefined
          ? { offset_bytes: meta.next_offset_bytes }
          : meta.next_offset !== undefined
            ? { offset: meta.next_offset }
            : undefined;
    }
    expect(parts.join("")).toBe(whole);
    const [, , ...goingOn] = parts.map((part) => Buffer.byteLength(part));
    expect(Math.max(...goingOn)).toBeLessThanOrEqual(8192);
    writeFileSync(join(app.root, "one.js"), "x".repeat(300_000));
    const first = await app.text("read_file", { path: "one.js" });
    expect(first).toMatch(
      /^x{8192}\n\[more: this line goes on at offset_bytes 8192; file has 300000 bytes\]$/,
    );
    expect(await app.text("read_file", { path: "min.js", offset: 1 })).toMatch(
      /\n\[more: this line goes on at offset_bytes 65541; file has 150012 bytes\]$/,
    );
  });

  test("refusals: outside, missing, directory, denylisted, unknown argument", async () => {
    const app = await openTestApp({ files: { ".env": "SECRET=1", "src/a.ts": "" } });
    expect(await app.errorCode("read_file", { path: "/etc/passwd" })).toBe("path_denied");
    expect(await app.errorCode("read_file", { path: "nope.txt" })).toBe("file_not_found");
    expect(await app.errorCode("read_file", { path: "src" })).toBe("is_directory");
    expect(await app.errorCode("read_file", { path: ".env" })).toBe("path_denied");
    expect(await app.errorCode("read_file", { path: "src/a.ts", lines: 3 })).toBe("invalid_args");
  });

  test("FAIL-A3: a link to outside is refused and nothing of its target shows", async () => {
    const outside = tempWorkspace({ "secret.txt": "the outside marker" });
    const app = await openTestApp({ files: { "in.txt": "inside" } });
    symlinkSync(join(outside, "secret.txt"), join(app.root, "link.txt"));
    symlinkSync(outside, join(app.root, "folder"));
    for (const path of ["link.txt", "folder/secret.txt"]) {
      const result = await app.ask("read_file", { path });
      expect(result).toMatchObject({ kind: "error", body: { meta: { error_code: "path_denied" } } });
      expect(JSON.stringify(result)).not.toContain("outside marker");
    }
    expect(await app.logs()).not.toContain("outside marker");
  });

  test("REQ-D16: the state folder cannot be read, whatever the roots", async () => {
    const app = await openTestApp({ config: '[mcp.tools]\nallowed_roots = ["/"]\n' });
    mkdirSync(join(app.root, ".llmc"));
    writeFileSync(join(app.root, ".llmc", "state.txt"), "private");
    expect(await app.errorCode("read_file", { path: ".llmc/state.txt" })).toBe("path_denied");
  });
});
