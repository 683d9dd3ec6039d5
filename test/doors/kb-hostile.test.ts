import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { startLlmc } from "../command-line.ts";
import { pageOf, pdfOf } from "../documents/pdf.ts";
import { docxOf, paragraph, zipOf } from "../documents/zip.ts";
import { cleanEnv } from "../workspace.ts";

/** Of paragraphs: more text than a document may have. */
const BOMB = Buffer.alloc(200 * 1024 * 1024, paragraph("words"));
const ENTITY = `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document><w:body>${paragraph("&e;")}</w:body></w:document>`;

/** Documents that cannot be read, and whose failure has to be named. */
const UNREADABLE: Readonly<Record<string, string | Buffer>> = {
  "bomb.docx": zipOf({ "word/document.xml": BOMB }),
  "lying-bomb.docx": zipOf({ "word/document.xml": BOMB }, 100),
  "entity.docx": zipOf({ "word/document.xml": ENTITY }),
  "cut.docx": docxOf(paragraph("x")).subarray(0, 120),
  "other.docx": zipOf({ "x.txt": "x" }),
  "nested.html": `${"<ul><li>".repeat(100_000)}deep`,
  "broken.pdf": "%PDF-1.7\n1 0 obj <<garbage",
  "cut.pdf": pdfOf([pageOf("x")]).subarray(0, 200),
  "unfolding.pdf": pdfOf([Buffer.from(pageOf("words ".repeat(4 * 1024 * 1024)))], { deflate: true }),
  "broken.ipynb": '{"cells":[{"cell_type":"markdown","source":',
};

/** Documents that may be read, in part or in full, as long as nothing comes of what is hostile in them. */
const ODD: Readonly<Record<string, string | Buffer>> = {
  "lists.html": `${"<ul><li>".repeat(10_000)}deep`,
  "lists.md": `${"- ".repeat(10_000)}deep`,
  "table.md": `|a|\n|-|\n${"|b".repeat(1000)}|\n`.repeat(500),
  "scripts.html":
    '<p>The gate opens at nine.</p><script>document.write("evil")</script><svg onload="evil()"><text>evil</text></svg><iframe srcdoc="evil"></iframe><p hidden>evil</p>',
  "attributes.html": `<a ${Array.from({ length: 200_000 }, (_, at) => `a${at}=1`).join(" ")}>x</a>`,
  "package.json": JSON.stringify({ name: "x", license: `${"*/".repeat(100_000)}\n` }),
  "escapes\u001b[2J\n2> forged.md": "# Escapes\n\nThe terminal \u001b[31mshows red\u001b[0m.\n",
  "null.txt": Buffer.from([0, 1, 2, 255, 254, 0]),
};

test("REQ-K1 FAIL-F5 FAIL-D7: a folder of hostile documents is bounded and reported, and the rest of it is ingested", {
  timeout: 300_000,
}, async () => {
  const root = tempWorkspace();
  const put = (name: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(root, "docs", name)), { recursive: true });
    writeFileSync(join(root, "docs", name), content);
  };
  for (const [name, content] of Object.entries({ ...UNREADABLE, ...ODD })) put(name, content);
  put("guide/backup.md", "# Backups\n\nEach backup is kept for thirty days.\n");
  // The program itself: a document that stopped it would stop the test's own process otherwise.
  const kb = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await startLlmc(root, ["kb", ...args], { env: cleanEnv() });
    expect({ code, err, args }).toEqual({ code: 0, err: expect.anything(), args });
    return out;
  };
  await kb("create", "hand");
  const options = ["--set", "mcp.kb.document_timeout_seconds=20"];
  const report = JSON.parse(await kb("add", "hand", "docs", "--json", ...options)) as {
    readonly added: readonly string[];
    readonly failed: readonly { readonly uri: string; readonly reason: string }[];
  };
  const failed = report.failed.map(({ uri }) => uri);
  expect(failed).toEqual(expect.arrayContaining(Object.keys(UNREADABLE).map((name) => `docs/${name}`)));
  expect(report.failed.every(({ reason }) => /^[a-z_]+: ./.test(reason))).toBe(true);
  expect(report.added).toContain("docs/guide/backup.md");
  expect(report.added).toContain("docs/scripts.html");
  for (const uri of [...failed, ...report.added]) expect(uri).not.toMatch(/\p{Cc}/u);
  await kb("promote", "hand");
  expect(await kb("ask", "How long is each backup kept?")).toMatch(
    /^1> Each backup is kept for thirty days\.$/m,
  );
  for (const query of ["evil", "root:x:0:0", "when does the gate open", "what does the terminal show"])
    expect(await kb("search", "hand", query)).not.toMatch(/evil|root:x:0:0|[^\P{Cc}\n]/u);
  // What has not changed is not read again: the hostile ones fail as before, and nothing else moves.
  const again = JSON.parse(await kb("add", "hand", "docs", "--json", ...options)) as typeof report;
  expect(again).toMatchObject({ added: [], changed: [], removed: [] });
});
