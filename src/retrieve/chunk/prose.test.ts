import { expect, test } from "vitest";
import { cutProse } from "./prose.ts";
import type { Sizes } from "./sizes.ts";

const SMALL: Sizes = { targetChars: 80, targetRows: 5, maxChars: 300, maxRows: 14 };

const outline = (text: string, language: string, sizes = SMALL): string[] =>
  cutProse(text, language, "prose", sizes).chunks.map(
    (chunk) => `${chunk.startLine}-${chunk.endLine} ${chunk.name}`,
  );

const MARKDOWN = `---
title: x
---

# Guide to \`llmc\`

Some words about it
on two lines.

## Install

\`\`\`sh
# not a heading

npm install
\`\`\`

### On [Linux](https://example.org)

It works there, as it should.

| a | b |
| - | - |
| 1 | 2 |

Use
---

And so on.
`;

test("Markdown is cut at headings, which give the path; fences and tables stay whole", () => {
  expect(outline(MARKDOWN, "markdown")).toEqual([
    "1-3 ",
    "5-8 Guide to llmc",
    "10-16 Guide to llmc > Install",
    "18-24 Guide to llmc > Install > On Linux",
    "26-29 Guide to llmc > Use",
  ]);
});

test("REQ-R2 no chunk crosses sections, however small they are", () => {
  const parts = Array.from(
    { length: 12 },
    (_, i) => `${"#".repeat(1 + (i % 3))} Part ${i}\n\nShort text ${i}.\n`,
  );
  for (const sizes of [SMALL, { targetChars: 3000, targetRows: 100, maxChars: 6000, maxRows: 200 }]) {
    const { chunks } = cutProse(parts.join("\n"), "markdown", "prose", sizes);
    expect(chunks.map(({ text }) => text.match(/Short text \d+/g)?.length)).toEqual(parts.map(() => 1));
  }
  // A heading without text of its own stays with its first subsection, and not with the next section.
  expect(outline("# A\n\n## B\n\ntext\n\n## C\n\n## D\n\nmore\n", "markdown")).toEqual([
    "1-5 A",
    "7-7 A > C",
    "9-11 A > D",
  ]);
});

test("a heading is never left without what it is about, and defines nothing", () => {
  const text = Array.from({ length: 30 }, (_, i) => `## Part ${i}\n\n${"word ".repeat(30)}\n`).join("\n");
  for (const chunk of cutProse(text, "markdown", "prose", SMALL).chunks) {
    expect(chunk.text).not.toMatch(/^## Part \d+$/);
    expect(chunk.text).not.toMatch(/## Part \d+\s*$/);
    expect(chunk.defines).toEqual([]);
  }
});

test("a fence that is never closed ends with the file", () => {
  expect(outline("# A\n\n```\n# B\n", "markdown")).toEqual(["1-4 A"]);
});

test("reStructuredText: the order of the marks gives the levels", () => {
  const text = `=====\nTitle\n=====\n\nWords that stand before all of it.\n\nFirst\n=====\n\nWords of the first, some of them.\n\n.. code-block:: python\n\n   x = 1\n\n   y = 2\n\nInner\n-----\n\nMore words, of the inner part now.\n`;
  expect(outline(text, "rst")).toEqual([
    "1-5 Title",
    "7-10 Title > First",
    "12-16 Title > First",
    "18-21 Title > First > Inner",
  ]);
});

test("HTML: text by heading", () => {
  const text = `<html><head><title>Page</title></head>\n<body>\n<h1 class="a">One <b>two</b></h1>\n<p>${"x ".repeat(40)}</p>\n<h2>\n  Three\n</h2>\n<p>${"y ".repeat(40)}</p>\n</body></html>\n`;
  expect(outline(text, "html")).toEqual(["1-2 Page", "3-4 One two", "5-9 One two > Three"]);
});

test.each([
  ["asciidoc", "= One\n\nwords\n\n== Two\n\nmore words\n"],
  ["org", "* One\n\nwords\n\n** Two\n\nmore words\n"],
  ["latex", "\\section{One}\nwords\n\n\\subsection*{Two}\n\nmore words\n"],
])("headings of %s", (language, text) => {
  const tiny: Sizes = { targetChars: 14, targetRows: 3, maxChars: 60, maxRows: 9 };
  expect(outline(text, language, tiny).map((line) => line.replace(/^\S+ /, ""))).toEqual([
    "One",
    "One > Two",
  ]);
});
