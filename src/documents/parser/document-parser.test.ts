import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeParser } from "../../../test/documents/parser-contract.ts";
import { pageOf, pdfOf } from "../../../test/documents/pdf.ts";
import { docxOf, paragraph, zipOf } from "../../../test/documents/zip.ts";
import { createDocumentParser } from "./document-parser.ts";

const LIMITS = { maxChars: 200_000, maxSections: 5000, maxPages: 50 };

type Parser = ReturnType<typeof createDocumentParser>;

const bytesOf = (text: string): Buffer => Buffer.from(text);

/** What a document becomes, or the code of its failure. */
const outcome = (parser: Parser, name: string, bytes: Buffer): Promise<string> =>
  parser.parse({ bytes, name }).then(
    ({ sections }) => sections.map(({ text }) => text).join("\n"),
    (error: { readonly code: string }) => error.code,
  );

describe.each([[["bubblewrap"]], [["landlock"]]] as const)("REQ-K1 a reader in %j", (tiers) => {
  describeParser(() => createDocumentParser({ limits: LIMITS, tiers }));
});

describe("hostile documents", () => {
  let parser: Parser;
  beforeAll(() => {
    parser = createDocumentParser({ limits: LIMITS, timeoutMs: 20_000, memoryMb: 384 });
  });
  afterAll(() => parser[Symbol.asyncDispose]());

  const bomb = Buffer.alloc(40 * 1024 * 1024, "<w:p/>");
  test.each<[what: string, name: string, bytes: Buffer, expected: string | RegExp]>([
    ["a zip bomb", "a.docx", zipOf({ "word/document.xml": bomb }), "file_too_large"],
    [
      "a zip bomb that names a small size",
      "a.docx",
      zipOf({ "word/document.xml": bomb }, 100),
      "file_too_large",
    ],
    [
      "an entity of the file system",
      "a.docx",
      zipOf({
        "word/document.xml": `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document><w:body>${paragraph("&e;")}</w:body></w:document>`,
      }),
      "invalid_args",
    ],
    [
      "entities that multiply, in a page",
      "a.html",
      bytesOf('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><p>&b;</p>'),
      /^(?!.*aaaa{4}).*$/s,
    ],
    ["an archive that is cut", "a.docx", docxOf(paragraph("x")).subarray(0, 120), "invalid_args"],
    ["an archive of something else", "a.docx", zipOf({ "x.txt": "x" }), "unsupported_media"],
    ["10,000 nested lists", "a.html", bytesOf(`${"<ul><li>".repeat(10_000)}deep`), /deep$/],
    ["100,000 nested lists", "a.html", bytesOf(`${"<ul><li>".repeat(100_000)}deep`), "invalid_args"],
    ["10,000 nested lists in Markdown", "a.md", bytesOf(`${"- ".repeat(10_000)}deep`), /deep$/],
    [
      "scripts",
      "a.html",
      bytesOf(
        '<p>before<script>document.write("evil")</script><style>.evil{}</style><template>evil</template><svg onload="evil()"><text>evil</text></svg><iframe srcdoc="evil"></iframe><p hidden>evil</p><img src=x onerror="evil()">after',
      ),
      /^before\s*after$/,
    ],
    ["a broken PDF", "a.pdf", bytesOf("%PDF-1.7\n1 0 obj <<garbage"), "invalid_args"],
    ["a PDF that is cut", "a.pdf", pdfOf([pageOf("x")]).subarray(0, 200), "invalid_args"],
    [
      "a table of a million cells",
      "a.md",
      bytesOf(`|a|\n|-|\n${"|b".repeat(1000)}|\n`.repeat(500)),
      "file_too_large",
    ],
    ["more text than allowed", "a.txt", bytesOf("x ".repeat(150_000)), "file_too_large"],
    ["more sections than allowed", "a.md", bytesOf("# a\n\nb\n\n".repeat(6000)), "file_too_large"],
    [
      "a regular expression's trap",
      "a.md",
      bytesOf(`# ${"[".repeat(90_000)}\n${"*a_`<".repeat(20_000)}`),
      /^\S/,
    ],
    ["invalid UTF-8", "a.md", Buffer.from([0x61, 0xff, 0xfe, 0x62]), "a\uFFFD\uFFFDb"],
    ["UTF-16 with a mark", "a.txt", Buffer.from("\uFEFFgr\u00fc\u00dfe", "utf16le"), "gr\u00fc\u00dfe"],
    ["UTF-16 without one", "a.txt", Buffer.from("plain words", "utf16le"), "plain words"],
    ["something else", "a.bin", Buffer.from([1, 0, 2, 0, 0, 0, 3, 3]), "unsupported_media"],
    ["nothing", "a.md", Buffer.alloc(0), ""],
    ["terminal controls", "a.txt", bytesOf("a\u001b[31mred\u0007\u0000".replace("\0", "")), "a[31mred"],
    ["a notebook without cells", "a.ipynb", bytesOf("[[[]]]"), "invalid_args"],
  ])(
    "FAIL-F5 %s is bounded and reported, and the next document is read",
    async (_what, name, bytes, expected) => {
      const found = await outcome(parser, name, bytes);
      if (typeof expected === "string") expect(found).toBe(expected);
      else expect(found).toMatch(expected);
      expect(await outcome(parser, "next.md", bytesOf("next"))).toBe("next");
    },
  );

  test("FAIL-F5 pages of a PDF that are damaged are left out and counted, however many; if all are, it is damaged", async () => {
    await using patient = createDocumentParser({ limits: { ...LIMITS, maxPages: 1000 } });
    const parse = (text: string) => patient.parse({ bytes: Buffer.from(text, "latin1"), name: "a.pdf" });
    const whole = pdfOf(Array.from({ length: 300 }, (_, at) => pageOf(`page ${at}`))).toString("latin1");
    const breakFrom = (first: number): string => {
      let seen = 0;
      return whole.replaceAll("<< /Length", (stream) => (seen++ < first ? stream : "[[ /Length"));
    };
    const { sections, warnings } = await parse(breakFrom(150));
    expect(sections).toHaveLength(150);
    expect(warnings).toEqual(["150 pages are damaged and were left out, the first of them page 151."]);
    expect((await parse(breakFrom(299))).warnings).toEqual(["Page 300 is damaged and was left out."]);
    await expect(parse(breakFrom(0))).rejects.toMatchObject({ code: "invalid_args" });
  });

  test.each([
    ["120 MiB of blanks", () => Buffer.alloc(120 * 1024 * 1024, " "), ""],
    ["24 MiB of text", () => Buffer.from(pageOf("words ".repeat(4 * 1024 * 1024))), "file_too_large"],
    ["more than its process may hold", () => Buffer.alloc(600 * 1024 * 1024, " "), "file_too_large"],
  ])("FAIL-F5 a PDF whose streams decompress to %s", async (_what, page, expected) => {
    const bytes = pdfOf([page()], { deflate: true });
    expect(bytes.length).toBeLessThan(2 * 1024 * 1024);
    expect(await outcome(parser, "a.pdf", bytes)).toBe(expected);
    expect(await outcome(parser, "next.md", bytesOf("next"))).toBe("next");
  });

  test("cancelling ends the work on a document, and those that wait for it", async () => {
    const slow = bytesOf(`<a ${Array.from({ length: 500_000 }, (_, at) => `a${at}=1`).join(" ")}>`);
    const controller = new AbortController();
    const parsing = parser.parse({ bytes: slow, name: "a.html" }, controller.signal);
    const waiting = parser.parse({ bytes: bytesOf("x"), name: "b.md" }, controller.signal);
    setTimeout(() => controller.abort(), 300);
    const settled = await Promise.allSettled([parsing, waiting]);
    const cancelled = { status: "rejected", reason: { code: "cancelled" } };
    expect(settled).toMatchObject([cancelled, cancelled]);
    expect(await outcome(parser, "next.md", bytesOf("next"))).toBe("next");
  });
});

test("a document that takes too long is ended, and the next is read", async () => {
  await using parser = createDocumentParser({ limits: LIMITS, timeoutMs: 1000, memoryMb: 512 });
  const slow = bytesOf(`<a ${Array.from({ length: 1_000_000 }, (_, at) => `a${at}=1`).join(" ")}>`);
  expect(await outcome(parser, "a.html", slow)).toMatch(/^(timeout|file_too_large)$/);
  expect(await outcome(parser, "next.md", bytesOf("next"))).toBe("next");
});

test("a document that is too large is not sent at all", async () => {
  await using parser = createDocumentParser({ maxDocumentBytes: 10, tiers: [] });
  expect(await outcome(parser, "a.md", Buffer.alloc(11))).toBe("file_too_large");
});

test("where nothing confines, documents are refused", async () => {
  await using refusing = createDocumentParser({ tiers: [] });
  await expect(refusing.parse({ bytes: bytesOf("x"), name: "a.md" })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("confined process only"),
  });
});

const childProcesses = (): readonly string[] =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");

test("its processes are gone when it is closed, and it reads no more", async () => {
  const before = childProcesses();
  const parser = createDocumentParser({ readers: 2 });
  const texts = ["a", "b", "c"];
  expect(await Promise.all(texts.map((text) => outcome(parser, "a.md", bytesOf(text))))).toEqual(texts);
  expect(childProcesses().length).toBeGreaterThan(before.length);
  // One is read, one is about to be, and one waits.
  const slow = bytesOf("# a\n\n".repeat(90_000));
  const unfinished = [
    outcome(parser, "a.md", slow),
    outcome(parser, "a.md", slow),
    outcome(parser, "a.md", slow),
  ];
  await new Promise(setImmediate);
  unfinished.push(outcome(parser, "a.md", slow));
  await parser[Symbol.asyncDispose]();
  for (const code of await Promise.all(unfinished)) expect(code).toMatch(/^(cancelled|unavailable)$/);
  expect(childProcesses().filter((pid) => !before.includes(pid))).toEqual([]);
  expect(await outcome(parser, "a.md", bytesOf("x"))).toBe("unavailable");
});
