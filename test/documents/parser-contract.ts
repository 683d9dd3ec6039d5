import { afterAll, beforeAll, expect, test } from "vitest";
import type { DocumentParser } from "../../src/documents/contract.ts";
import { pageOf, pdfOf } from "./pdf.ts";
import { docxOf, paragraph } from "./zip.ts";

const bytesOf = (text: string): Buffer => Buffer.from(text);

/** What every parser of documents does, however it is confined. */
export const describeParser = (open: () => DocumentParser & AsyncDisposable): void => {
  let parser: DocumentParser & AsyncDisposable;
  beforeAll(() => {
    parser = open();
  });
  afterAll(() => parser[Symbol.asyncDispose]());

  test.each([
    ["a.md", bytesOf("# One\n\nText.\n"), "markdown"],
    ["a.html", bytesOf("<h1 id=one>One</h1><p>Text.</p>"), "html"],
    ["a.rst", bytesOf("One\n===\n\nText.\n"), "rst"],
    ["a.docx", docxOf(paragraph("One", "Heading1") + paragraph("Text.")), "docx"],
    [
      "a.ipynb",
      bytesOf('{"cells":[{"cell_type":"markdown","source":["# One\\n","\\n","Text."]}]}'),
      "notebook",
    ],
  ])("%s: headings lead to the text", async (name, bytes, format) => {
    const document = await parser.parse({ bytes, name });
    expect(document).toMatchObject({ format, title: "One", warnings: [] });
    expect(document.sections).toMatchObject([{ headings: ["One"], text: "Text.", kind: "prose" }]);
  });

  test("a PDF has pages, and its own title", async () => {
    const bytes = pdfOf([pageOf("First page"), pageOf("Second page")], { title: "A manual" });
    expect(await parser.parse({ bytes, name: "x.pdf" })).toMatchObject({
      format: "pdf",
      title: "A manual",
      sections: [
        { page: 1, text: "First page" },
        { page: 2, text: "Second page" },
      ],
    });
  });

  test("a document that cannot be read is an error about it, and the next is read", async () => {
    const failing = [
      ["a.pdf", "%PDF-1.7 broken", "invalid_args"],
      ["a.bin", "\0\u0001\0\0\0\u0002", "unsupported_media"],
      ["a.txt", "x ".repeat(200_000), "file_too_large"],
    ] as const;
    for (const [name, text, code] of failing)
      await expect(parser.parse({ bytes: bytesOf(text), name })).rejects.toMatchObject({ code });
    expect((await parser.parse({ bytes: bytesOf("next"), name: "a.md" })).sections).toMatchObject([
      { text: "next" },
    ]);
  });

  test("the media type of a server counts more than a name", async () => {
    const bytes = bytesOf("<h1>One</h1>Text");
    expect(await parser.parse({ bytes, name: "page.txt", mediaType: "text/html" })).toMatchObject({
      format: "html",
    });
    const plain = await parser.parse({ bytes, name: "page.txt", mediaType: "text/plain" });
    expect(plain).toMatchObject({ format: "text", sections: [{ text: "<h1>One</h1>Text" }] });
  });
};
