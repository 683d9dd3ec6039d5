import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { docxOf, paragraph } from "../../../test/documents/zip.ts";
import type { Section } from "../contract.ts";
import { decodeText } from "../text/decode-text.ts";
import { parseDocument } from "./parse-document.ts";

const LIMITS = { maxChars: 1_000_000, maxSections: 10_000, maxPages: 100 };

const parse = (name: string, content: string | Buffer, mediaType?: string) =>
  parseDocument(Buffer.from(content), { name, mediaType, limits: LIMITS });

/** The parts that tests compare, in one line each. */
const shown = (sections: readonly Section[]): readonly string[] =>
  sections.map(({ kind, headings, anchor, startLine, endLine, text }) =>
    [kind, headings.join(" > "), `#${anchor ?? ""}`, `${startLine ?? ""}-${endLine ?? ""}`, text].join(" | "),
  );

describe("Markdown", () => {
  test("front matter, tables, code, anchors as GitHub makes them, and lines", async () => {
    const source = [
      "---",
      "title: The manual",
      "license: Apache-2.0",
      "version: 1.2.3",
      "---",
      "# Über `code` & more!",
      "Intro.",
      "",
      "```sh",
      "# not a heading",
      "```",
      "## Same",
      "| a | b |",
      "| - | - |",
      "| 1 | 2 |",
      "",
      "## Same",
      "## Own {#own-anchor}",
      "Setext",
      "------",
      "> # quoted",
    ].join("\n");
    const document = await parse("a.md", source);
    expect(document).toMatchObject({ title: "The manual", licence: "Apache-2.0", version: "1.2.3" });
    const top = "Über code & more!";
    expect(shown(document.sections)).toEqual([
      `prose | ${top} | #über-code--more | 7-7 | Intro.`,
      `code | ${top} | #über-code--more | 9-11 | \`\`\`sh\n# not a heading\n\`\`\``,
      `table | ${top} > Same | #same | 13-15 | | a | b |\n| - | - |\n| 1 | 2 |`,
      `prose | ${top} > Same | #same-1 | 17-17 | Same`,
      `prose | ${top} > Own | #own-anchor | 18-18 | Own`,
      `prose | ${top} > Setext | #setext | 21-21 | > # quoted`,
    ]);
  });

  test("a rule at the top is no front matter, and front matter that is broken is a warning", async () => {
    expect(
      (await parse("a.md", "---\nText\n---\nMore")).sections.map(({ text }) => text).join("\n"),
    ).toContain("More");
    const { warnings, sections } = await parse("a.md", "---\na: [\n---\nText");
    expect(warnings).toEqual(["The front matter could not be read."]);
    expect(sections).toMatchObject([{ text: "Text", startLine: 4 }]);
  });

  test("headings in HTML, as READMEs begin", async () => {
    const { title, sections } = await parse("README.md", '<h1 align="center">The <b>tool</b></h1>\n\nText');
    expect(title).toBe("The tool");
    expect(sections).toMatchObject([{ headings: ["The tool"], anchor: "the-tool", text: "Text" }]);
  });
});

describe("HTML", () => {
  test("main content with anchors, code and tables; nothing around it", async () => {
    const page = `<title>Guide – Docs</title><nav><a>Menu</a></nav><main><section id="intro"><h1>Intro<a class="headerlink" href="#intro">¶</a></h1>
      <p>A  paragraph with <b>bold</b> text, which is long enough to be the content of a page, as it were.</p><ul><li>one</li><li>two</li></ul>
      <pre>x = 1\n  y = 2</pre><table><tr><th>A</th><th>B</th></tr><tr><td><p>1</p></td><td>2</td></tr></table>
      </section><h2><a name="old"></a>Old style</h2>End.</main><footer>Imprint</footer>`;
    const document = await parse("x", page, "text/html; charset=utf-8");
    expect(document).toMatchObject({ format: "html", title: "Guide – Docs" });
    expect(shown(document.sections)).toEqual([
      "prose | Intro | #intro | - | A paragraph with bold text, which is long enough to be the content of a page, as it were.\n\n- one\n- two",
      "code | Intro | #intro | - | x = 1\n  y = 2",
      "table | Intro | #intro | - | A | B\n1 | 2",
      "prose | Intro > Old style | #old | - | End.",
    ]);
  });

  test("the encoding that a page declares", async () => {
    const page = Buffer.from('<meta charset="iso-8859-1"><p>Grüße</p>', "latin1");
    expect((await parse("a.html", page)).sections).toMatchObject([{ text: "Grüße" }]);
  });
});

test("reStructuredText: titles by their order, targets, literal blocks, directives, tables", async () => {
  const source = [
    "=====",
    "Title",
    "=====",
    ":Version: 2.0",
    "",
    "Example::",
    "",
    "    code",
    "",
    ".. _target:",
    "",
    "Part",
    "----",
    ".. code-block:: python",
    "",
    "   x = 1",
    "",
    "=== ===",
    "a   b",
    "=== ===",
    "",
    "Part",
    "----",
  ].join("\n");
  const document = await parse("a.rst", source);
  expect(document).toMatchObject({ title: "Title", version: "2.0" });
  expect(shown(document.sections)).toEqual([
    "prose | Title | #title | 4-6 | :Version: 2.0\n\nExample::",
    "code | Title | #title | 8-8 |     code",
    "prose | Title | #title | 10-10 | .. _target:",
    "code | Title > Part | #target | 14-16 | .. code-block:: python\n\n   x = 1",
    "table | Title > Part | #target | 18-20 | === ===\na   b\n=== ===",
    "prose | Title > Part | #id1 | 22-22 | Part",
  ]);
});

test("notebooks: headings reach over cells; outputs are kept", async () => {
  const cells = [
    { cell_type: "markdown", source: ["# Study\n", "## Data"] },
    { cell_type: "code", source: "1 + 1", outputs: [{ data: { "text/plain": ["2"] } }] },
    { cell_type: "markdown", source: "## End" },
  ];
  const { title, sections } = await parse("a.ipynb", JSON.stringify({ cells }));
  expect(title).toBe("Study");
  expect(shown(sections)).toEqual([
    "code | Study > Data | #data | - | 1 + 1",
    "code | Study > Data | #data | - | 2",
    "prose | Study > End | #end | - | End",
  ]);
});

test("Word: heading styles by name, outline level and base; tables, lists, notes, deleted text", async () => {
  const styles = `<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
    <w:style w:styleId="Own"><w:basedOn w:val="berschrift1"/></w:style>
    <w:style w:styleId="Deep"><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>`;
  const body = [
    paragraph("First", "berschrift1"),
    paragraph("Text &amp; more"),
    paragraph("Inner", "Deep"),
    "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r><w:del><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del></w:p>",
    `<w:tbl><w:tr><w:tc>${paragraph("a")}</w:tc><w:tc>${paragraph("b")}</w:tc></w:tr></w:tbl>`,
    paragraph("Second", "Own"),
  ].join("");
  const bytes = docxOf(body, {
    "word/styles.xml": styles,
    "word/footnotes.xml": `<w:footnotes>${paragraph("A note")}</w:footnotes>`,
    "docProps/core.xml": "<cp:coreProperties><dc:title>Report</dc:title></cp:coreProperties>",
  });
  const { title, sections } = await parse("a.docx", bytes);
  expect(title).toBe("Report");
  expect(shown(sections)).toEqual([
    "prose | First | # | - | Text & more",
    "prose | First > Inner | # | - | - item",
    "table | First > Inner | # | - | a | b",
    "prose | Second | # | - | Second",
    "prose |  | # | - | A note",
  ]);
});

test("code keeps its lines and the licence of its header; a name may be wrong about a PDF", async () => {
  const source = "// SPDX-License-Identifier: MIT OR Apache-2.0\nlet x;\n";
  const document = await parse("a.ts", source);
  expect(document).toMatchObject({ format: "code", licence: "MIT OR Apache-2.0" });
  expect(shown(document.sections)).toEqual([`code |  | # | 1-2 | ${source.trimEnd()}`]);
  await expect(parse("a.md", "%PDF-1.7 no")).rejects.toMatchObject({ code: "invalid_args" });
});

/** Any text that is a line of prose in every format, with a letter in front so that no format takes it for markup. */
const proseLine = fc.stringMatching(/^[a-z][a-z0-9 ,.]{0,30}[a-z]$/);
const part = fc.record({
  level: fc.integer({ min: 1, max: 4 }),
  title: proseLine,
  body: fc.array(proseLine, { maxLength: 4 }),
});
const parts = fc.array(part, { minLength: 1, maxLength: 12 });

type Parts = readonly { readonly level: number; readonly title: string; readonly body: readonly string[] }[];

const FORMS: readonly (readonly [name: string, render: (all: Parts) => string | Buffer])[] = [
  [
    "a.md",
    (all) =>
      all
        .map(({ level, title, body }) => `${"#".repeat(level)} ${title}\n\n${body.join("\n\n")}`)
        .join("\n\n"),
  ],
  [
    "a.html",
    (all) =>
      all
        .map(
          ({ level, title, body }) =>
            `<h${level}>${title}</h${level}>${body.map((line) => `<p>${line}`).join("")}`,
        )
        .join(""),
  ],
  [
    "a.docx",
    (all) =>
      docxOf(
        all
          .map(
            ({ level, title, body }) =>
              paragraph(title, `Heading${level}`) + body.map((line) => paragraph(line)).join(""),
          )
          .join(""),
      ),
  ],
];

/** The path of headings that each part lies under. */
const pathsOf = (all: Parts): readonly (readonly string[])[] => {
  let open: { level: number; title: string }[] = [];
  return all.map(({ level, title }) => {
    open = [
      ...open.filter((heading) => heading.level < level),
      { level, title: title.replace(/\s+/g, " ").trim() },
    ];
    return open.map((heading) => heading.title);
  });
};

const squeeze = (text: string): string => text.replace(/\s+/g, " ").trim();

test.each(FORMS)("REQ-K1 %s: no section mixes headings, and no text is lost", async (name, render) => {
  await fc.assert(
    fc.asyncProperty(parts, async (all) => {
      const { sections } = await parse(name, render(all));
      const paths = pathsOf(all);
      const expected = all.flatMap(({ body }, index) => body.map((line) => [paths[index], squeeze(line)]));
      const found = sections.flatMap(({ headings, text }) =>
        text
          .split("\n")
          .map(squeeze)
          .filter((line) => line !== "")
          .map((line) => [headings, line]),
      );
      // Headings without a body are sections of their own.
      const bare = found.filter(([headings, line]) => (headings as string[]).at(-1) === line);
      const rest = found.filter(
        (one) => !bare.includes(one) || expected.some((two) => JSON.stringify(two) === JSON.stringify(one)),
      );
      expect(rest).toEqual(expected);
      const everything = JSON.stringify(sections);
      for (const { title } of all) expect(everything).toContain(squeeze(title));
    }),
    { numRuns: 60 },
  );
});

test("REQ-K1 whatever the text: sections of lines hold those lines, in order, and miss none but headings", async () => {
  const anyLine = fc.oneof(
    proseLine,
    fc.constantFrom(
      "",
      "# a",
      "## b",
      "```",
      "---",
      "===",
      "| a | b |",
      "| - | - |",
      "- x",
      "    y",
      "> z",
      "::",
      "+--+--+",
      "<h1>q</h1>",
      ".. code::",
    ),
    fc.string({ maxLength: 20 }).map((text) => text.replace(/[\r\n\u0085\u2028\u2029]/g, "")),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyLine, { maxLength: 30 }),
      fc.constantFrom("a.md", "a.rst", "a.txt", "a.py"),
      async (lines, name) => {
        // Front matter is not text.
        const source = ["x", ...lines].join("\n");
        const { text: normalised } = decodeText(Buffer.from(source));
        const all = normalised.split("\n");
        const { sections } = await parse(name, source);
        const covered = new Set<number>();
        for (const { startLine = 0, endLine = 0, text, headings } of sections) {
          const own = all.slice(startLine - 1, endLine).join("\n");
          if (text !== own) expect(headings.at(-1)).toBe(text);
          for (let at = startLine; at <= endLine; at++) {
            expect(covered.has(at)).toBe(false);
            covered.add(at);
          }
        }
        const headings = new Set(sections.flatMap((section) => section.headings));
        const missed = all.filter((line, index) => line.trim() !== "" && !covered.has(index + 1));
        // With its tags, and without them: what begins like a tag in one line may end in another.
        const spellings = (line: string): readonly [string, string] => {
          const plain = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, "");
          return [plain(line), plain(line.replace(/<[^>]*>/g, ""))];
        };
        const isHeading = (line: string): boolean => {
          const [whole, bare] = spellings(line);
          return (
            bare === "" ||
            [...headings]
              .map(spellings)
              .some((heading) => heading[0].includes(whole) || heading[1].includes(bare))
          );
        };
        expect(missed.filter((line) => !isHeading(line))).toEqual([]);
      },
    ),
    { numRuns: 300, examples: [[["<0", "a>b", "==="], "a.md"]] },
  );
});
