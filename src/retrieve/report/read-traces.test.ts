import { describe, expect, test } from "vitest";
import { readReport } from "./read-report.ts";

const framesOf = (text: string): readonly string[] =>
  readReport(text).frames.map(({ path, line, name }) => `${path}:${line} ${name}`.trimEnd());

const fenced = (text: string): string => `Crash on start\n\`\`\`\n${text}\n\`\`\`\n`;

const GO_PANIC = `panic: runtime error: index out of range [5] with length 3

goroutine 18 [running]:
github.com/acme/app/store.(*Store).Open(0xc00010e000, {0x4b2f40, 0x5})
	/home/u/app/store/store.go:12 +0x1d
github.com/acme/app/store.Map[...](0x1)
	/home/u/app/store/map.go:7
main.main.func1()
	/home/u/app/main.go:31 +0x25
created by main.start in goroutine 1
	/home/u/app/start.go:30 +0x4c

goroutine 1 [chan receive]:
main.wait(...)
	/home/u/app/wait.go:9
main.main()
	/home/u/app/main.go:12 +0x45
exit status 2`;

const GO_FRAMES = [
  "/home/u/app/store/store.go:12 store.Store.Open",
  "/home/u/app/store/map.go:7 store.Map",
  "/home/u/app/main.go:31 main.main",
  "/home/u/app/start.go:30 main.start",
  "/home/u/app/wait.go:9 main.wait",
  "/home/u/app/main.go:12 main.main",
];

const RUST_BACKTRACE = `stack backtrace:
   0: rust_begin_unwind
             at /rustc/90b35a623/library/std/src/panicking.rs:645:5
   1: app::store::Store::open::h0123456789abcdef
             at ./src/store.rs:12:9
   2: app::main::{{closure}}
             at ./src/main.rs:5:17`;

const RUST_FRAMES = [
  "src/store.rs:12",
  "/rustc/90b35a623/library/std/src/panicking.rs:645 rust_begin_unwind",
  "./src/store.rs:12 app::store::Store::open",
  "./src/main.rs:5 app::main",
];

describe("REQ-R3 traces whose functions stand above their places", () => {
  test("Go: the goroutine that failed comes first, innermost first, with its functions", () => {
    expect(framesOf(fenced(GO_PANIC))).toEqual(GO_FRAMES);
    expect(framesOf(`Crash on start\n${GO_PANIC}`)).toEqual(GO_FRAMES);
    const { messages, examples, prose } = readReport(fenced(GO_PANIC));
    expect(messages).toEqual(["runtime error: index out of range [5] with length 3"]);
    expect(examples.map(({ text }) => text.trim())).toEqual(["exit status 2"]);
    expect(prose.trim()).toBe("");
  });

  test("Go: a crash in C, with a panic that was recovered and raised again", () => {
    const { messages, frames } = readReport(`Crash
panic: no rows [recovered]
	panic: no rows at all

goroutine 7 [running]:
testing.tRunner.func1.2({0x5a2f40, 0xc0000b6000})
	/usr/local/go/src/testing/testing.go:1545 +0x238
panic({0x5a2f40?, 0xc0000b6000?})
	/usr/local/go/src/runtime/panic.go:914 +0x21f
app/store.open({0x0, 0x0})
	/x/app/store/open.go:3 +0x20
`);
    expect(messages).toEqual(["no rows [recovered]", "no rows at all"]);
    expect(frames.map(({ name }) => name)).toEqual(["testing.tRunner", "panic", "store.open"]);
  });

  test.each([
    [
      "since 1.73",
      "thread 'main' panicked at src/store.rs:12:9:\nindex out of bounds: the len is 3 but the index is 5",
    ],
    [
      "before",
      "thread 'main' panicked at 'index out of bounds: the len is 3 but the index is 5', src/store.rs:12:9",
    ],
  ])("Rust %s: the place of the panic, then the backtrace", (_version, panic) => {
    const text = `${panic}\nnote: run with \`RUST_BACKTRACE=full\` for more\n${RUST_BACKTRACE}`;
    for (const report of [fenced(text), `Crash\n${text}`]) {
      expect(framesOf(report)).toEqual(RUST_FRAMES);
      expect(readReport(report).messages).toEqual(["index out of bounds: the len is 3 but the index is 5"]);
    }
  });
});

describe("REQ-R3 errors of many languages, with their places", () => {
  test.each([
    [
      "JavaScript",
      "Uncaught (in promise) TypeError: rows is not iterable\n    at open (webpack:///./src/x.ts?:12:5)",
      "rows is not iterable",
      "/./src/x.ts:12 open",
    ],
    [
      "Java",
      'Exception in thread "main" java.lang.IllegalStateException: no rows there\n\tat com.acme.Store.open(Store.java:12)',
      "no rows there",
      "Store.java:12 com.acme.Store.open",
    ],
    [
      "C#",
      "Unhandled exception. System.InvalidOperationException: no rows there\n   at Acme.Store.Open(String path) in /a/Store.cs:line 12",
      "no rows there",
      "/a/Store.cs:12 Acme.Store.Open",
    ],
    [
      "PHP",
      "PHP Fatal error:  Uncaught Acme\\NoRows: no rows there in /a/Store.php:12\nStack trace:\n#0 /a/main.php(3): Acme\\Store->open()",
      "no rows there in /a/Store.php:12",
      "/a/Store.php:12",
    ],
    [
      "Ruby",
      "/a/store.rb:12:in 'open': no rows there (ArgumentError)\n\tfrom /a/main.rb:3:in '<main>'",
      "no rows there",
      "/a/store.rb:12 open",
    ],
    ["gcc", "src/a.c:12:5: error: unknown type name 'row_t'", "unknown type name 'row_t'", "src/a.c:12"],
    ["clang", "src/a.c:12:5: fatal error: 'rows.h' file not found", "'rows.h' file not found", "src/a.c:12"],
    ["gcc, a warning", "src/a.c:12:5: warning: unused variable 'row'", "unused variable 'row'", "src/a.c:12"],
    [
      "TypeScript",
      "src/a.ts(12,5): error TS2345: Argument of type 'Row' is wrong",
      "Argument of type 'Row' is wrong",
      "src/a.ts:12",
    ],
  ])("%s", (_language, text, message, frame) => {
    for (const report of [fenced(text), `Crash on start\n${text}`, text]) {
      const { messages, title } = readReport(report);
      expect(messages).toEqual([message]);
      expect(framesOf(report)[0]).toBe(frame);
      expect(title).toBe(report === text ? text.split("\n")[0] : "Crash on start");
    }
  });

  test("a type of errors in prose has its message behind it, and stays prose before it", () => {
    const { messages, prose } = readReport(
      "T\nWhen I open it, it raises ValueError: no rows there\nand stops.",
    );
    expect(messages).toEqual(["no rows there"]);
    expect(prose).toBe("When I open it, it raises \nand stops.");
    expect(readReport("T\n```python\ntry:\n    f()\nexcept ValueError: pass\n```").messages).toEqual([]);
  });

  test("messages in quotes are phrases, code in quotes is not", () => {
    const { phrases, messages } = readReport(
      'T\nIt says `cannot open the file` or "no rows were found", from `open(a, b, c)` and `Table.write`.',
    );
    expect(phrases).toEqual(["cannot open the file", "no rows were found"]);
    expect(messages).toEqual([]);
  });
});

describe("REQ-R3 what stands before a line of a trace", () => {
  const LINES = [
    "Traceback (most recent call last):",
    '  File "/x/pkg/table.py", line 3, in write',
    "    put(rows)",
    '  File "/x/pkg/writer.py", line 9, in put',
    "    raise ValueError()",
    "ValueError: no rows there",
  ];

  test.each([
    "> ",
    "stderr: ",
    "2026-01-31T12:00:00.123Z ",
    "[2026-01-31 12:00:00,123] ERROR ",
    "Jan 31 12:00:00 host app[12]: ",
    "web_1  | ",
  ])("%s", (prefix) => {
    const text = LINES.map((line) => `${prefix}${line}`).join("\n");
    for (const report of [`It fails\n${text}`, fenced(text)]) {
      expect(framesOf(report)).toEqual(["/x/pkg/writer.py:9 put", "/x/pkg/table.py:3 write"]);
      expect(readReport(report).messages).toEqual(["no rows there"]);
    }
  });

  test("a fence inside of a quotation", () => {
    const { examples, frames } = readReport(
      'T\n> ```python\n> import pkg\n> ```\n> ```\n>   File "/x/a.py", line 3, in f\n> ```\nmore',
    );
    expect(examples.map(({ text }) => text)).toEqual(["import pkg"]);
    expect(frames).toHaveLength(1);
  });

  test("a trace that was pasted alone keeps its first frame; the error is the title", () => {
    const report = readReport(LINES.slice(1).join("\n"));
    expect(report.frames).toHaveLength(2);
    expect(report.title).toBe("ValueError: no rows there");
  });
});

describe("REQ-R3 long lines", () => {
  const sentence = (n: number): string => `Sentence ${n} says that the writer drops rows of a table.`;
  const paragraph = Array.from({ length: 500 }, (_, n) => sentence(n)).join(" ");

  test("a question without line breaks: its first sentence is the title, and nothing is lost", () => {
    const { title, prose } = readReport(paragraph);
    expect(title).toBe(sentence(0));
    expect(`${title} ${prose.replaceAll("\n", " ")}`).toBe(paragraph);
    expect(readReport(`Hi all. ${paragraph}`).title).toBe(`Hi all. ${sentence(0)}`);
  });

  test("an unwrapped paragraph keeps its end, also where no sentence ends", () => {
    expect(readReport(`Title\n${paragraph}`).prose.replaceAll("\n", " ")).toBe(paragraph);
    const endless = "some words that go on ".repeat(100).trim();
    expect(readReport(`Title\n${endless}`).prose.replaceAll("\n", " ")).toBe(endless);
  });

  test("data is cut", () => {
    expect(readReport(`Title\n${"0.25, ".repeat(5000)}`).prose.length).toBeLessThanOrEqual(600);
    expect(readReport(`Title\n${"QUJD".repeat(5000)}`).prose.length).toBeLessThanOrEqual(600);
  });
});

describe("REQ-R3 options", () => {
  test("flags and keys of settings are options; variables and calls are not", () => {
    const { options } = readReport(
      'Broken --no-cache-dir\nWith `line-length` or `max_rows = 3` it fails -- always.\n```\n$ app --dry-run\n[tool]\ncache_dir = /tmp\n"no-emit": true,\nrows = 3\nx_train = load(3)\n```',
    );
    expect(options).toEqual([
      "--no-cache-dir",
      "--dry-run",
      "line-length",
      "max_rows",
      "cache_dir",
      "no-emit",
    ]);
  });
});
