import { describe, expect, test } from "vitest";
import { cpuMs } from "../../../test/cpu-ms.ts";
import { frameOf } from "./frames.ts";
import { isBoilerplate } from "./issue-form.ts";
import { isReport, readReport } from "./read-report.ts";

const fence = (text: string, language = ""): string => `\`\`\`${language}\n${text}\n\`\`\``;

const REPORT = `[Bug]: rows are lost when \`Table.write\` gets header_rows
<!-- Thanks for the report! Please describe the problem. -->
### Bug summary

The writer drops rows, see \`pkg/io/writer.py\`.

### Code for reproduction

${fence("import pkg\nt = pkg.Table()", "python")}

${fence(">>> t.write(header_rows=['a'])\nwritten: 0", "python")}

### Actual outcome

${fence(`Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "/usr/lib/python3/dist-packages/pkg/table.py", line 12, in write
    self.registry.write(self)
  File "/usr/lib/python3/dist-packages/pkg/io/writer.py", line 40, in open_writer
    raise ValueError("Unrecognized line")
ValueError: Unrecognized line: a`)}

### Matplotlib Version

3.6.1

### Additional information

- Numpy 1.24.3
It worked before.
`;

describe("REQ-R3 a report is taken apart", () => {
  const report = readReport(REPORT);

  test("title and prose are without the form, comments, code, traces and versions", () => {
    expect(report.title).toBe("[Bug]: rows are lost when `Table.write` gets header_rows");
    expect(report.prose.replace(/\s+/g, " ").trim()).toBe(
      "The writer drops rows, see `pkg/io/writer.py`. It worked before.",
    );
  });

  test("examples are code alone: of a session, what was typed", () => {
    expect(report.examples).toEqual([
      { language: "python", text: "import pkg\nt = pkg.Table()" },
      { language: "python", text: "t.write(header_rows=['a'])" },
    ]);
    expect(report.output).toBe("written: 0");
  });

  test("frames come innermost first, and messages without their type", () => {
    expect(report.frames.map(({ path, line, name }) => `${path}:${line} ${name}`)).toEqual([
      "/usr/lib/python3/dist-packages/pkg/io/writer.py:40 open_writer",
      "/usr/lib/python3/dist-packages/pkg/table.py:12 write",
      "<stdin>:1 <module>",
    ]);
    expect(report.messages).toEqual(["Unrecognized line: a"]);
    expect(report.traced).toContain("self.registry.write(self)");
  });

  test("below a trace, the type of an error may have any name; elsewhere it must be known as one", () => {
    const line = "app.models.Entry.DoesNotExist: no such entry";
    const frame = '  File "/x/a.py", line 1, in get\n    get()\n';
    expect(readReport(`T\n${frame}${line}\n`).messages).toEqual(["no such entry"]);
    expect(readReport(`T\n${frame}Expected: an entry\n`).messages).toEqual([]);
    expect(readReport(`T\n${line}\n`).messages).toEqual([]);
  });

  test("code that nobody fenced is code, and a section on the machine ends with the next heading", () => {
    const { examples, prose } = readReport(
      "Title\nDescription\n\nimport pkg\nx = pkg.make(1)\n\n#### Versions\nLinux-4.4.0\nsome: thing\n#### Notes on it\nkept\n",
    );
    expect(examples.map(({ text }) => text)).toEqual(["import pkg\nx = pkg.make(1)"]);
    expect(prose.trim()).toBe("#### Notes on it\nkept");
  });

  test("of two traces, the last one comes first", () => {
    const trace = (name: string): string =>
      `Traceback (most recent call last):\n  File "/a/${name}.py", line 1, in f\n    x\nKeyError: 'x'\n`;
    expect(
      readReport(`T\n${trace("one")}\nDuring handling of the above exception:\n\n${trace("two")}`).frames,
    ).toEqual([
      { path: "/a/two.py", line: 1, name: "f" },
      { path: "/a/one.py", line: 1, name: "f" },
    ]);
  });
});

describe("REQ-R3 frames of many languages", () => {
  test.each([
    ['  File "a/b.py", line 12, in name', "a/b.py", 12, "name"],
    ["File ~/a/b.py:12, in Name.method(self, x)", "~/a/b.py", 12, "Name.method"],
    ["~/a/b.py in name(self, *args)", "~/a/b.py", 0, "name"],
    ["[c:\\lib\\b.py](file:///C:/lib/b.py) in name(data)", "c:/lib/b.py", 0, "name"],
    ["a/b.py:12: in name", "a/b.py", 12, "name"],
    ["a/b.py:12: ValueError", "a/b.py", 12, ""],
    ["/lib/a/b.py:12: UserWarning: no rows", "/lib/a/b.py", 12, ""],
    ["    at Store.open (/app/src/store.js:12:5)", "/app/src/store.js", 12, "Store.open"],
    ["    at async file:///app/src/store.js:12:5", "/app/src/store.js", 12, ""],
    ["\tat com.example.Store.open(Store.java:12)", "Store.java", 12, "com.example.Store.open"],
    ["   at Example.Store.Open(String path) in /a/Store.cs:line 12", "/a/Store.cs", 12, "Example.Store.Open"],
    ["/a/b.rb:12:in `open'", "/a/b.rb", 12, "open"],
    ["#0 /a/b.php(12): App\\Store->open()", "/a/b.php", 12, "App\\Store->open"],
    ["#1  0x00007 in open_store (path=0x0) at src/store.c:12", "src/store.c", 12, "open_store"],
    ["thread 'main' panicked at src/main.rs:12:5:", "src/main.rs", 12, ""],
    ["\t/a/b.go:12 +0x1d", "/a/b.go", 12, ""],
  ])("%s", (line, path, number, name) => {
    expect(frameOf(line)?.frame).toEqual({ path, line: number, name });
  });

  test.each(["see store.py for more", "at least 12 of them", "File the issue, line by line", "in name()"])(
    "%s is none",
    (line) => {
      expect(frameOf(line)).toBeUndefined();
    },
  );
});

describe("REQ-R3 lines that say nothing about the problem", () => {
  test.each([
    "Numpy 1.24.3",
    "- Python version: 3.8.1",
    "OS: Ubuntu 20.04 LTS",
    "Linux-4.4.0-116-generic-x86_64-with-debian-stretch-sid",
    "Description",
    "Steps to reproduce",
    "_No response_",
    "\t\t(last modified by Jane Doe)",
  ])("%s", (line) => expect(isBoilerplate(line)).toBe(true));

  test.each([
    "It worked in 1.24.3, and it fails with the version that came after it.",
    "table.write(path, 1.5)",
    "Description of the table is lost",
    "",
  ])("%s is kept", (line) => expect(isBoilerplate(line)).toBe(false));
});

describe("REQ-R3 what counts as a report", () => {
  test.each([
    "where are paths checked",
    "Store.open",
    "first line\nsecond line",
    "0-dimensional biomaterials show inductive properties and the incidence of heart failure increased by 10 percent in women since 1979",
    "x".repeat(399),
  ])("a short question is none: %s", (question) => expect(isReport(question)).toBe(false));

  test.each([
    `Title\n${"words of a report ".repeat(12)}`,
    "x ".repeat(201),
    'It fails\n  File "a.py", line 3, in f',
  ])("%s", (question) => expect(isReport(question)).toBe(true));
});

describe("FAIL-F5 hostile reports are read in bounded time", () => {
  test.each([
    ["parentheses", "(".repeat(1_000_000)],
    ["frames", '  File "/a/b/c.py", line 1, in f\n'.repeat(10_000)],
    ["one long path", `  at ${"a/".repeat(500_000)}b.js`],
    ["spaces before an end that does not come", `${" ".repeat(500_000)}x`],
    ["lines of spaces", `${`${" ".repeat(599)}\n`.repeat(1000)}`],
    ["dots", "a.".repeat(500_000)],
    ["dashes", "-".repeat(1_000_000)],
    ["versions", `${"a ".repeat(59)}\n`.repeat(5000)],
    ["words far apart", `- ${" ".repeat(40)}aaaa${" ".repeat(40)}aaaa${" ".repeat(20)}(\n`.repeat(5000)],
    ["headings that do not end", `# a${" ".repeat(590)}x\n`.repeat(5000)],
    ["open comments", "<!--".repeat(250_000)],
    ["open fences", "```\n".repeat(250_000)],
    ["an error without an end", `${"a.".repeat(300)}Error`.repeat(2000)],
    ["colons", `${"Aa:".repeat(200)}\n`.repeat(2000)],
    ["prefixes", `${"> [a] stderr: 12:00 ".repeat(28)}\n`.repeat(2000)],
    ["places", `${"a.c:1:1: ".repeat(60)}\n`.repeat(2000)],
    ["functions without places", `${"a(".repeat(290)})\n\tb.go:1\n`.repeat(2000)],
    ["panics", `thread '${"panicked at 'a', ".repeat(30)}\n`.repeat(2000)],
    ["options", `${"--a-a_a".repeat(80)}\n`.repeat(2000)],
    ["quotations", '`a b c" '.repeat(120_000)],
    ["one long sentence", "some words and ".repeat(70_000)],
    ["sentences", "A. ".repeat(300_000)],
    ["a word of quotes", `a${"'".repeat(1_000_000)}1 b c`],
    ["words of quotes", `${`a${"'".repeat(190)}1 `.repeat(3)}\n`.repeat(2000)],
    ["a fence of empty lines", `it fails\n\`\`\`\n${"\n".repeat(1_000_000)}`],
    ["a fence of spaces", `it fails\n\`\`\`\n${" \n".repeat(500_000)}`],
    ["assignments", `${"a[".repeat(290)}\n`.repeat(2000)],
  ])("%s", (_name, text) => {
    expect(cpuMs(() => readReport(text))).toBeLessThan(300);
    expect(cpuMs(() => isReport(text))).toBeLessThan(300);
  });
});

test("REQ-R3 line ends of every kind, in lines made to be slow", () => {
  for (const end of ["\r", "\u2028", "\u2029"]) {
    const line = `# ${" ".repeat(590)}x${end}y${end}z`;
    const report = `it fails\n${`${line}\n`.repeat(54)}`;
    expect(cpuMs(() => expect(readReport(report).title).toBe("it fails"))).toBeLessThan(1000);
  }
});
