import type { ParsedDocument } from "../contract.ts";
import { parseDocx } from "../formats/docx.ts";
import type { BinaryParser, FormatParser } from "../formats/format-parser.ts";
import { parseHtml } from "../formats/html.ts";
import { parseMarkdown } from "../formats/markdown.ts";
import { parseNotebook } from "../formats/notebook.ts";
import { parsePdf } from "../formats/pdf.ts";
import { parseCode, parseText } from "../formats/plain.ts";
import { parseRst } from "../formats/rst.ts";
import { type Format, formatOf } from "../formats-table.ts";
import { spdxHeader } from "../licence/licence-of-text.ts";
import { decodeText } from "../text/decode-text.ts";
import { headingText, SectionList } from "../text/section-list.ts";
import type { ReadRequest } from "./messages.ts";

const TEXT_PARSERS: Readonly<Record<Exclude<Format, "docx" | "pdf">, FormatParser>> = {
  markdown: parseMarkdown,
  html: parseHtml,
  text: parseText,
  rst: parseRst,
  notebook: parseNotebook,
  code: parseCode,
};

const BINARY_PARSERS: Readonly<Record<string, BinaryParser>> = { docx: parseDocx, pdf: parsePdf };

const DECLARED_IN_PAGE = /<meta[^>]{0,200}?charset\s*=\s*["']?([\w:-]{2,40})/i;
const DECLARED_IN_TYPE = /;\s*charset\s*=\s*"?([\w:-]{2,40})/i;
const DECLARATION_BYTES = 2048;

/** The encoding that a page or its server names. */
const declaredEncoding = (
  bytes: Uint8Array,
  format: Format,
  mediaType: string | undefined,
): string | undefined => {
  const start = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString("latin1");
  const inPage = format === "html" ? DECLARED_IN_PAGE.exec(start)?.[1] : undefined;
  return DECLARED_IN_TYPE.exec(mediaType ?? "")?.[1] ?? inPage;
};

/** Bytes in, text out. Runs in the confined process only. */
export const parseDocument = async (bytes: Uint8Array, request: ReadRequest): Promise<ParsedDocument> => {
  const { name, mediaType, limits } = request;
  const format = formatOf(bytes, name, mediaType);
  const list = new SectionList(limits);
  const untitled = headingText(name.replace(/^.*[/\\]/, ""));
  if (format === "docx" || format === "pdf") {
    const facts = await BINARY_PARSERS[format]?.({ bytes, list, limits });
    const { title = untitled, licence, version, warnings = [] } = facts ?? {};
    return { title, format, sections: list.sections, licence, version, warnings };
  }
  const { text, warnings } = decodeText(bytes, declaredEncoding(bytes, format, mediaType));
  const facts = TEXT_PARSERS[format]({ text, list });
  return {
    title: facts.title || untitled,
    format,
    sections: list.sections,
    licence: facts.licence ?? spdxHeader(text),
    version: facts.version,
    warnings: [...warnings, ...(facts.warnings ?? [])],
  };
};
