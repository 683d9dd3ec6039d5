import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { summarize, summarizeReal } from "../../../test/summarize.ts";

const REPOSITORY = resolve(import.meta.dirname, "../../..");
const many = (count: number, line: (i: number) => string): string =>
  `${Array.from({ length: count }, (_, i) => line(i)).join("\n")}\n`;

describe("find", () => {
  test("REQ-X4: every path is there, by folder, and their number", () => {
    const { raw, summary } = summarizeReal(["find", "src/envelope", "-name", "*.ts"], REPOSITORY, 8000) ?? {
      raw: "",
    };
    const paths = raw.trimEnd().split("\n");
    expect(summary).toMatchObject({ matchCount: paths.length, truncated: false });
    for (const path of paths) expect(summary?.text).toContain(path.slice(path.lastIndexOf("/") + 1));
  });

  test("too many: by folder with counts; forms of its own pass through", () => {
    const summary = summarize(
      "find .",
      many(50_000, (i) => `./pkg-${i % 40}/lib/${i % 300}/file-${i}.js`),
      { maxTokens: 600 },
    );
    expect(summary?.text).toMatch(/^\[50000 paths, \d+ folders\]\n/);
    expect(summary?.text).toContain("pkg-0/lib/ 1250");
    expect(
      summarize(
        "find . -printf %s",
        many(50, (i) => `${i} x`),
      ),
    ).toBeUndefined();
    expect(
      summarize(
        "find . -name x",
        many(40, () => "a dir/some file"),
      )?.text,
    ).toContain('a dir/: "some file"');
  });

  test("fd's own options, under both names of fd: what they print passes through", () => {
    const lines = many(40, () => "src/a.ts");
    for (const program of ["fd", "fdfind"]) {
      expect(summarize(`${program} -e ts`, lines)?.text).toContain("[40 paths");
      for (const option of ["-l", "-0", "--format={/}"])
        expect(summarize(`${program} ${option}`, lines), option).toBeUndefined();
    }
  });
});

describe("ls and tree", () => {
  test("REQ-X4: ls -la keeps types, sizes and names, in their order", () => {
    const root = tempWorkspace({
      "a file.txt": "12345",
      "run.sh": "",
      "d/x": "",
      ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`file-${i}.ts`, "x".repeat(i)])),
    });
    const { summary } = summarizeReal(["ls", "-la"], root) ?? {};
    const rows = summary?.text.split("\n") ?? [];
    expect(rows[0]).toMatch(/^\[23 entries; all of /);
    expect(summary?.text).toMatch(/^"a file\.txt" 5 \w{3} \d{1,2} \d\d:\d\d$/m);
    expect(summary?.text).toMatch(/^d\/ \w{3} \d{1,2} \d\d:\d\d$/m);
    expect(summary?.text).toMatch(/^file-19\.ts 19 \w{3} /m);
    expect(summary).toMatchObject({ matchCount: 23, truncated: false });
  });

  test("owner and rights that differ from the others' are told with the entry", () => {
    const long = many(20, (i) => `-rw-r--r-- 1 me staff ${i} Nov  5 13:00 name-of-file-${i}`);
    const summary = summarize("ls -l", `total 4\n${long}-rw------- 1 you staff 7 Nov  5 13:00 secret\n`);
    expect(summary?.text).toContain("[21 entries; most of me:staff; files rw-r--r--]");
    expect(summary?.text).toContain("name-of-file-3 3 Nov 5 13:00\n");
    expect(summary?.text).toContain("secret 7 Nov 5 13:00 rw------- you:staff");
    expect(summary?.truncated).toBe(false);
  });

  test("links keep their target, programs their star, the order by time its time", () => {
    const long = many(12, (i) => `-rwxr-xr-x 1 me staff ${i}K Nov  5 13:0${i % 10} run-${i}`);
    const summary = summarize(
      "ls -lat",
      `total 4\n${long}lrwxrwxrwx 1 me staff 7 Jan  1  2025 l -> ../there\n`,
    );
    expect(summary?.text).toContain("run-3* 3K Nov 5 13:03");
    expect(summary?.text).toContain("l -> ../there");
    expect(summary?.text).toContain("all of me:staff");
  });

  test("names alone, several folders, and lines that are no entries", () => {
    expect(
      summarize(
        "ls",
        many(60, (i) => `name-${i}.txt`),
      )?.text,
    ).toMatch(/^\[60 entries\]\nname-0\.txt name-1\.txt/);
    expect(
      summarize("ls -R", `.:\n${many(30, (i) => `f-${i}.txt`)}\n./d:\n${many(30, (i) => `g-${i}.txt`)}`),
    ).toMatchObject({ matchCount: 60 });
    expect(
      summarize(
        "ls -l",
        many(60, () => "something else"),
      ),
    ).toBeUndefined();
  });

  test("tree: lines instead of drawings, and only as deep as there is room for", () => {
    const drawn = `.\n${many(40, (i) => `├── dir-${i}\n│   ├── a.ts\n│   └── deep\n│       └── b.ts`)}\n80 directories, 80 files\n`;
    const summary = summarize("tree", drawn, { maxTokens: 1200 });
    expect(summary?.text).toMatch(
      /^\. \[80 directories, 80 files\]\n dir-0\n {2}a\.ts\n {2}deep\n {3}b\.ts\n/,
    );
    const cut = summarize("tree", drawn, { maxTokens: 300 });
    expect(cut?.text).toContain(" dir-39 [+3]");
    expect(cut?.truncated).toBe(true);
  });
});

describe("cat, head and tail", () => {
  test("a text that fits passes as it is; a long one keeps its beginning and its end", () => {
    expect(summarize("cat a", "one\ntwo")).toBeUndefined();
    const summary = summarize(
      "cat a",
      many(5000, (i) => `line ${i + 1} of a long text`),
      { maxTokens: 500 },
    );
    expect(summary?.text).toMatch(/^\[5000 lines\]\nline 1 of a long text\n/);
    expect(summary?.text).toMatch(/line 5000 of a long text$/);
    const [, from = "", to = ""] = /\[lines (\d+)–(\d+) of 5000 left out\]/.exec(summary?.text ?? "") ?? [];
    expect(summary?.text).toContain(`line ${Number(from) - 1} of`);
    expect(summary?.text).toContain(`line ${Number(to) + 1} of`);
    expect(summary?.text).not.toContain(`line ${from} of`);
  });

  test("repeats are folded, binary content is noticed", () => {
    expect(summarize("cat a", `start\n${"same\n".repeat(9000)}end\n`)?.text).toBe(
      "[9002 lines]\nstart\nsame\n[the same line 8999 more times]\nend",
    );
    expect(summarize("cat a", `\u007fELF\0\u0001${"\uFFFD".repeat(300)}`)?.text).toMatch(
      /^\[binary, about \d+ bytes/,
    );
  });
});

describe("any other program", () => {
  test("short output passes byte for byte, colours and all", () => {
    expect(summarize("make", "\u001b[31mred\u001b[0m\r\n", { stderr: "warn\n" })).toBeUndefined();
  });

  test("long output: beginning, errors of the middle with their lines, end; no colours, no progress bars", () => {
    const text = many(4000, (i) =>
      i === 1999 ? "src/a.c:3: error: no such thing" : `\u001b[32mstep ${i}\u001b[0m`,
    );
    const summary = summarize("make", `10%\r50%\r100%\n${text}`, { maxTokens: 600 });
    expect(summary?.text).toMatch(/^100%\nstep 0\n/);
    expect(summary?.text).toContain("2001: src/a.c:3: error: no such thing");
    expect(summary?.text).toMatch(/step 3999$/);
    expect(summary?.truncated).toBe(true);
  });

  test("REQ-X4 of a long output, failures come first, and what passed is no error, whatever it is called", () => {
    const results: Readonly<Record<string, (i: number) => string>> = {
      "✖ this one is broken\n  AssertionError [ERR_ASSERTION]: 2 !== 3": (i) => `✔ should report error ${i}`,
      "not ok 301 - this one is broken": (i) => `ok ${i} - handles a fatal error`,
      "test a::this_one_is_broken ... FAILED": (i) => `test a::failed_${i}_error ... ok`,
      "a.py::this_one_is_broken FAILED   [ 50%]": (i) => `a.py::error_${i} on error PASSED   [ 50%]`,
      "--- FAIL: this one is broken (0.00s)": (i) => `--- PASS: error ${i} (0.00s)`,
      "src/a.c:3: error: this one is broken": (i) => `[${i}%] compiling a.c, no errors`,
    };
    for (const [failure, pass] of Object.entries(results)) {
      const stdout = many(1000, (i) => (i === 500 ? failure : pass(i)));
      const { text = "" } = summarize("make check", stdout) ?? {};
      const listed = text.split("\n").filter((line) => /^\d+: /.test(line));
      expect(listed.join("\n"), failure).toBe(
        failure
          .split("\n")
          .map((line, at) => `${501 + at}: ${line}`)
          .join("\n"),
      );
    }
    const mentions = many(1000, (i) => (i === 700 ? "TypeError: this one is broken" : `the error page ${i}`));
    const { text = "" } = summarize("make check", mentions) ?? {};
    expect(text).toMatch(/speak of errors; failures first, 12:\]\n701: TypeError: this one is broken\n/);
  });

  test("a flood of complaints is cut too, and what was asked for stands", () => {
    const summary = summarize("find /", "/a\n", {
      stderr: many(9000, (i) => `find: /proc/${i}: Permission denied`),
    });
    expect(summary?.text).toBe("/a\n");
    expect(summary?.stderr?.length).toBeLessThan(8000);
    expect(summary?.truncated).toBe(true);
  });

  test("hostile output of megabytes is told within the budget", () => {
    const hostile = [
      "a",
      "\n",
      ":1:",
      "\u001b]",
      "\u001b[",
      "x\r",
      "--\n",
      "= ",
      "__ x ",
      "(",
      "漢",
      "a/b\n",
    ];
    for (const piece of hostile) {
      const stdout = piece.repeat(1_000_000 / piece.length);
      for (const command of [
        "grep -rn x .",
        "cat a",
        "find .",
        "ls -la",
        "tree",
        "git log",
        "git diff",
        "pytest",
        "npm test",
        "go test",
        "x",
      ]) {
        const summary = summarize(command, stdout, { maxTokens: 300, exitCode: 1 });
        expect(
          summary === undefined || summary.text.length < 4000,
          `${command}: ${JSON.stringify(piece)}`,
        ).toBe(true);
      }
    }
  });
});
