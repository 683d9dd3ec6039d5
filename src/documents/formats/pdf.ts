import { normalise } from "../text/decode-text.ts";
import { DocumentFailure } from "../text/limits.ts";
import { headingText } from "../text/section-list.ts";
import type { BinaryParser } from "./format-parser.ts";

/** What is used of pdf.js: its own types need those of a browser. */
interface TextItem {
  readonly str?: unknown;
  readonly hasEOL?: unknown;
}

interface PdfDocument {
  readonly numPages: number;
  getPage(page: number): Promise<{
    getTextContent(): Promise<{ readonly items: readonly TextItem[] }>;
    cleanup(): void;
  }>;
  getMetadata(): Promise<{ readonly info: Readonly<Record<string, unknown>> }>;
}

interface PdfLibrary {
  getDocument(options: object): { readonly promise: Promise<PdfDocument>; destroy(): Promise<void> };
}

/** Loaded when a PDF comes: it is larger than all other parsers together. */
const loadLibrary = async (): Promise<PdfLibrary> => (await import("unpdf/pdfjs")) as unknown as PdfLibrary;

/** Nothing is drawn, compiled or fetched. */
const SAFE = {
  isEvalSupported: false,
  disableFontFace: true,
  useSystemFonts: false,
  useWorkerFetch: false,
  disableAutoFetch: true,
  disableStream: true,
  disableRange: true,
  enableXfa: false,
  stopAtErrors: false,
  maxImageSize: 1,
  isOffscreenCanvasSupported: false,
  verbosity: 0,
};

const textOf = (items: readonly TextItem[]): string =>
  normalise(
    items
      .map(({ str, hasEOL }) => `${typeof str === "string" ? str : ""}${hasEOL === true ? "\n" : ""}`)
      .join(""),
  ).trim();

const textOfPage = async (pdf: PdfDocument, page: number): Promise<string> => {
  const opened = await pdf.getPage(page);
  const { items } = await opened.getTextContent();
  opened.cleanup();
  return textOf(items);
};

/** One warning, however many there are. */
const describeDamaged = ([first = 0, ...others]: readonly number[]): string =>
  others.length === 0
    ? `Page ${first} is damaged and was left out.`
    : `${others.length + 1} pages are damaged and were left out, the first of them page ${first}.`;

const unreadable = (): DocumentFailure =>
  new DocumentFailure("invalid_args", "The PDF is damaged and cannot be read.");

const failureOf = (thrown: unknown): DocumentFailure => {
  if (thrown instanceof DocumentFailure) return thrown;
  const name = thrown instanceof Error ? thrown.name : "";
  return name === "PasswordException"
    ? new DocumentFailure("invalid_args", "The PDF needs a password.")
    : unreadable();
};

export const parsePdf: BinaryParser = async ({ bytes, list, limits }) => {
  const library = await loadLibrary();
  // The library takes the buffer over, so it gets a copy.
  const task = library.getDocument({ data: new Uint8Array(bytes), ...SAFE });
  const warnings: string[] = [];
  try {
    const pdf = await task.promise;
    const pages = Math.min(pdf.numPages, limits.maxPages);
    if (pages < pdf.numPages) warnings.push(`Only the first ${pages} of ${pdf.numPages} pages were read.`);
    let emptyPages = 0;
    const damaged: number[] = [];
    for (let page = 1; page <= pages; page++) {
      const text = await textOfPage(pdf, page).catch(() => undefined);
      if (text === undefined) damaged.push(page);
      else if (text === "") emptyPages++;
      else list.add({ headings: [], page, text, kind: "prose" });
    }
    if (damaged.length === pages) throw unreadable();
    if (damaged.length > 0) warnings.push(describeDamaged(damaged));
    if (emptyPages > 0) warnings.push(`${emptyPages} pages hold no text; they may be images.`);
    const { info } = await pdf.getMetadata();
    const title = typeof info["Title"] === "string" ? headingText(normalise(info["Title"])) : "";
    return { title: title === "" ? undefined : title, warnings };
  } catch (thrown) {
    throw failureOf(thrown);
  } finally {
    await task.destroy().catch(() => undefined);
  }
};
