import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, TEST_CALLER, tempWorkspace } from "../../test/app.ts";
import { tokenCounter } from "../host/os/token-counter.ts";

const classic = { overrides: { "mcp.mode": "classic" } };
const FILES = {
  "src/a.ts": "alpha\nbeta needle\ngamma\n",
  "src/b.ts": "needle one\nneedle two\n",
  "docs/c.md": "NEEDLE in prose\n",
  ".env": "needle=secret-value\n",
  "ignored.log": "needle\n",
  ".gitignore": "*.log\n",
  ".git/HEAD": "ref: needle\n",
};

describe("linux_search_content", () => {
  test("REQ-T4 REQ-F6: grouped text, true totals, ignore files respected, secrets left out", async () => {
    const app = await openTestApp({ ...classic, files: FILES });
    expect(await app.text("linux_search_content", { root: ".", pattern: "needle", context_lines: 0 })).toBe(
      "docs/c.md\n1:NEEDLE in prose\nsrc/a.ts\n2:beta needle\nsrc/b.ts\n1:needle one\n2:needle two",
    );
    const all = await app.text("linux_search_content", {
      root: ".",
      pattern: "needle",
      context_lines: 0,
      no_ignore: true,
    });
    expect(all).toContain("ignored.log");
    expect(all).not.toContain("secret-value");
    expect(
      await app.text("linux_search_content", { root: "src", pattern: "NEEDLE", ignore_case: false }),
    ).toBe("[no hits]");
  });

  test("REQ-F6: context, literal text, globs, a page with a handle to the rest", async () => {
    const app = await openTestApp({ ...classic, files: { ...FILES, "many.txt": "hit\n".repeat(500) } });
    expect(
      await app.text("linux_search_content", {
        root: ".",
        pattern: "needle",
        file_glob: "*.ts",
        context_lines: 1,
      }),
    ).toBe("src/a.ts\n1-alpha\n2:beta needle\n3-gamma\nsrc/b.ts\n1:needle one\n2:needle two");
    expect(await app.text("linux_search_content", { root: ".", pattern: "a.c", literal: true })).toBe(
      "[no hits]",
    );
    const page = await app.text("linux_search_content", {
      root: ".",
      pattern: "^hit$",
      context_lines: 0,
      max_results: 2,
    });
    const handle = /\[2 of 500 hits in 1 files; all: handle:(h_\w+)\]$/.exec(page)?.[1] ?? "";
    expect(await app.text("linux_handle_read", { handle, offset_lines: 0, max_lines: 1 })).toBe(
      "many.txt\n1:hit\n[more: offset_lines 1 of 500 lines]",
    );
    const result = await app.ask("linux_search_content", { root: ".", pattern: "beta" });
    expect(result).toMatchObject({
      structured: {
        hits: [{ path: "src/a.ts", line: 2, snippet: "alpha\nbeta needle\ngamma" }],
        total_hits: 1,
        truncated: false,
        handle: null,
      },
    });
  });

  test("REQ-F6: a page of real code has about 2,000 tokens, with the total and a handle to all", async () => {
    const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".ts"));
    const files = Object.fromEntries(
      names.map((name) => [name, readFileSync(join(import.meta.dirname, name), "utf8")]),
    );
    const app = await openTestApp({ ...classic, files });
    const countTokens = await tokenCounter();
    for (const pattern of ["const", "describe", "z\\.string"]) {
      const page = await app.text("linux_search_content", { pattern });
      expect(countTokens(page), pattern).toBeGreaterThan(1300);
      expect(countTokens(page), pattern).toBeLessThan(2200);
      const [, shown, total, handle = ""] =
        /\[(\d+) of (\d+) hits in \d+ files; all: handle:(h_\w+)\]$/.exec(page) ?? [];
      expect(Number(shown)).toBeLessThan(Number(total));
      const rest = await app.text("linux_handle_read", { handle, offset_lines: Number(shown), max_lines: 5 });
      expect(rest).toMatch(/:\d|^\d/m);
    }
  });

  test("FAIL-B1 FAIL-B2 FAIL-B6: options as patterns, invalid patterns, a root that leads outside", async () => {
    const outside = tempWorkspace({ "x.txt": "needle\n" });
    const app = await openTestApp({
      ...classic,
      files: { ...FILES, "opt.txt": "--pre=sh and -f/etc/passwd\n" },
    });
    for (const pattern of ["--pre=sh", "-f/etc/passwd"]) {
      expect(await app.text("linux_search_content", { root: ".", pattern, context_lines: 0 })).toContain(
        "opt.txt",
      );
    }
    expect(await app.text("linux_search_content", { root: ".", pattern: "--files" })).toBe("[no hits]");
    expect(await app.errorCode("linux_search_content", { root: ".", pattern: "(unclosed" })).toBe(
      "INVALID_ARGS",
    );
    symlinkSync(outside, join(app.root, "link"));
    expect(await app.errorCode("linux_search_content", { root: "link", pattern: "needle" })).toBe(
      "INVALID_PATH",
    );
    expect(await app.errorCode("linux_search_content", { root: "..", pattern: "x" })).toBe("INVALID_PATH");
  });
});

describe("linux_search_files", () => {
  test("REQ-T4 REQ-F6: globs, and letters of a name with the best first", async () => {
    const app = await openTestApp({
      ...classic,
      files: { "src/user-service.ts": "", "src/user.ts": "", "test/user.test.ts": "", "readme.md": "" },
    });
    expect(await app.text("linux_search_files", { root: ".", pattern: "*.md" })).toBe("readme.md");
    expect((await app.text("linux_search_files", { root: ".", pattern: "user" })).split("\n")[0]).toBe(
      "src/user.ts",
    );
    expect(await app.ask("linux_search_files", { root: ".", pattern: "user", max_results: 1 })).toMatchObject(
      {
        structured: {
          hits: [{ path: "src/user.ts" }],
          total_hits: 3,
          truncated: true,
          handle: expect.stringMatching(/^h_/),
        },
      },
    );
    expect(await app.text("linux_search_files", { root: ".", pattern: "zzzz" })).toBe("[no files]");
    expect(await app.text("linux_search_files", { pattern: "*.md" })).toBe("readme.md");
    expect(await app.errorCode("linux_search_files", { root: "nope", pattern: "x" })).toBe("NOT_FOUND");
  });
});

test("REQ-F6: the workspace is searched without a root, and an ignored name is told with its rule", async () => {
  const app = await openTestApp({ ...classic, files: FILES });
  expect(await app.text("linux_search_files", { pattern: "ignored.log" })).toBe(
    "[ignored: ignored.log by *.log in .gitignore; no_ignore shows it]",
  );
  expect(await app.text("linux_search_content", { pattern: "alpha\\nbeta", context_lines: 0 })).toBe(
    "src/a.ts\n1:alpha\n2-beta needle",
  );
});

test("REQ-F6 REQ-D24: an ignored name is not told where the caller may not see that it is there", async () => {
  const files = { ".config/llmc/own.toml": "", "a/own.toml": "", ".gitignore": ".config/\na/\n" };
  const app = await openTestApp({ ...classic, files, isHome: true });
  expect(await app.text("linux_search_files", { pattern: "own.toml" })).toBe(
    "[ignored: a/own.toml by a/ in .gitignore; no_ignore shows it]",
  );
});

describe("linux_handle_read", () => {
  test("REQ-F7 REQ-D17: lines, chunks, staleness, unknown ids", async () => {
    const app = await openTestApp({ ...classic, files: { "a.txt": "line\n".repeat(300) } });
    const result = await app.ask("linux_fs_read", { path: "a.txt" });
    const { handle } = (result.kind === "ok" ? result.structured : {}) as { handle: string };
    expect(await app.text("linux_handle_read", { handle, offset_lines: 299 })).toBe("line\n");
    expect(await app.text("linux_handle_read", { handle, chunk: 0 })).toBe("line\n".repeat(300));
    expect(await app.errorCode("linux_handle_read", { handle, chunk: 0, max_lines: 3 })).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_handle_read", { handle: "h_nothere" })).toBe("NOT_FOUND");
    const { appendFileSync } = await import("node:fs");
    appendFileSync(join(app.root, "a.txt"), "new\n");
    expect(await app.text("linux_handle_read", { handle, offset_lines: 299 })).toBe(
      "line\n[a.txt has changed since]",
    );
    const resources = await app.core.resources(TEST_CALLER);
    expect(resources.find(({ uri }) => uri === `llmc://handles/${handle}`)?.description).toMatch(
      /^file_content of a\.txt, 1500 bytes, \d{4}-/,
    );
    expect(await app.ask("linux_handle_read", { handle, max_lines: 1 })).toMatchObject({
      structured: { meta: { kind: "file_content", path: "a.txt", root: ".", first_line: 1, next_offset: 1 } },
    });
  });

  test("REQ-F7: of very many hits the first are searched by their text, and the answer says so", async () => {
    const app = await openTestApp({ ...classic, files: { "many.txt": "hit\n".repeat(10_050) } });
    const found = await app.ask("linux_search_content", { pattern: "hit", context_lines: 0, max_results: 1 });
    const { handle } = (found.kind === "ok" ? found.structured : {}) as { handle: string };
    const note = "only the first 10000 of 10050 hits were searched; search the files for the rest";
    for (const [tool, args] of [
      ["linux_handle_read", { handle }],
      ["read_file", { path: `handle:${handle}` }],
    ] as const) {
      expect(await app.text(tool, { ...args, pattern: "nowhere" })).toContain(note);
      expect(await app.text(tool, { ...args, pattern: ":9:hit" })).toContain("9:hit");
      const last = tool === "read_file" ? { offset: 10_049 } : { offset_lines: 10_049 };
      expect(await app.text(tool, { ...args, ...last })).toBe("many.txt\n10050:hit\n");
    }
  });

  test("REQ-F7 REQ-D17: a handle holds what was found, in small pages, and can be searched", async () => {
    const many = Array.from({ length: 900 }, (_, i) => `needle ${i} in a haystack of words`).join("\n");
    const app = await openTestApp({ ...classic, files: { "src/many.txt": many } });
    const found = await app.ask("linux_search_content", { root: "src", pattern: "needle", max_results: 1 });
    const { handle } = (found.kind === "ok" ? found.structured : {}) as { handle: string };
    const { writeFileSync } = await import("node:fs");
    writeFileSync(join(app.root, "src/many.txt"), "something else\n");
    for (const [tool, args] of [
      ["linux_handle_read", { handle }],
      ["read_file", { path: `handle:${handle}` }],
    ] as const) {
      const page = await app.text(tool, args);
      expect(page).toMatch(/^src\/many\.txt \[changed since\]\n1:needle 0 in a haystack of words\n/);
      expect(page.length).toBeLessThan(9000);
      expect(page).toMatch(/\[more: offset(_lines)? \d+/);
      expect(await app.text(tool, { ...args, pattern: "needle 89[78] " })).toBe(
        "src/many.txt [changed since]\n898:needle 897 in a haystack of words\nsrc/many.txt [changed since]\n899:needle 898 in a haystack of words\n",
      );
      expect(await app.text(tool, { ...args, pattern: "nowhere" })).toBe("[no hits]");
      expect(await app.ask(tool, args)).toMatchObject({
        structured: { meta: { kind: "search_hits", root: "src" } },
      });
    }
    expect(await app.errorCode("read_file", { path: "src/many.txt", pattern: "x" })).toBe("invalid_args");
  });
});
