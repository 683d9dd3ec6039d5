import { normalise } from "../text/decode-text.ts";
import { DocumentFailure } from "../text/limits.ts";
import { addPendingHeading } from "../text/line-sections.ts";
import { readMarkup } from "../text/read-markup.ts";
import { HeadingPath, headingText, type SectionList } from "../text/section-list.ts";
import { openZip, utf8 } from "../text/zip.ts";
import { readHeadingStyles } from "./docx-styles.ts";
import type { BinaryParser } from "./format-parser.ts";
import { PageText } from "./page-text.ts";

type Attributes = Readonly<Record<string, string>>;

/** A document has at most this many bytes, UTF-8 and markup included, for each character of text. */
const BYTES_PER_CHAR = 8;

/** Elements whose content is not the document's text: the same text again, or what was deleted. */
const SKIPPED = new Set(["mc:Fallback", "w:del", "w:moveFrom", "w:instrText", "w:rPrChange", "w:pPrChange"]);

const BREAKS: Readonly<Record<string, string>> = {
  "w:tab": "\t",
  "w:br": " ",
  "w:cr": " ",
  "w:noBreakHyphen": "-",
};

interface Paragraph {
  style: string | undefined;
  level: number | undefined;
  isListItem: boolean;
  anchor: string | undefined;
  text: string;
}

/** Reads the body of a Word document as its tags come. */
class BodyReader {
  readonly #page: PageText;
  readonly #levelOf: (style: string) => number | undefined;
  #skipped = 0;
  #paragraph: Paragraph | undefined;
  #isText = false;
  #tables = 0;
  title: string | undefined;

  constructor(list: SectionList, path: HeadingPath, levelOf: (style: string) => number | undefined) {
    this.#page = new PageText(list, path);
    this.#levelOf = levelOf;
  }

  open(name: string, attributes: Attributes): void {
    if (this.#skipped > 0 || SKIPPED.has(name)) {
      this.#skipped++;
      return;
    }
    const paragraph = this.#paragraph;
    if (name === "w:p") {
      // A text box holds paragraphs inside of one.
      if (paragraph !== undefined) this.#endParagraph();
      this.#paragraph = {
        style: undefined,
        level: undefined,
        isListItem: false,
        anchor: undefined,
        text: "",
      };
    } else if (name === "w:tbl") {
      this.#tables++;
      this.#page.open("table", false);
    } else if (name === "w:tc") this.#page.open("td", false);
    else if (paragraph === undefined) return;
    else if (name === "w:pStyle") paragraph.style = attributes["w:val"];
    else if (name === "w:outlineLvl" && /^[0-8]$/.test(attributes["w:val"] ?? ""))
      paragraph.level = Number(attributes["w:val"]) + 1;
    else if (name === "w:numPr") paragraph.isListItem = true;
    else if (name === "w:bookmarkStart" && attributes["w:name"] !== "_GoBack")
      paragraph.anchor ??= attributes["w:name"];
    else if (name === "w:t") this.#isText = true;
    else paragraph.text += BREAKS[name] ?? "";
  }

  text(text: string): void {
    if (this.#skipped === 0 && this.#isText && this.#paragraph !== undefined) this.#paragraph.text += text;
  }

  close(name: string): void {
    if (this.#skipped > 0) {
      this.#skipped--;
      return;
    }
    if (name === "w:t") this.#isText = false;
    else if (name === "w:p") this.#endParagraph();
    else if (name === "w:tbl") {
      this.#tables--;
      this.#page.close("table", false, false);
    } else if (name === "w:tc") this.#page.close("td", false, false);
    else if (name === "w:tr") this.#page.close("tr", false, false);
  }

  end(): void {
    this.#endParagraph();
    this.#page.flush();
  }

  #endParagraph(): void {
    const paragraph = this.#paragraph;
    this.#paragraph = undefined;
    if (paragraph === undefined) return;
    const text = normalise(paragraph.text);
    const level =
      paragraph.level ?? (paragraph.style === undefined ? undefined : this.#levelOf(paragraph.style));
    if (level !== undefined && this.#tables === 0 && text.trim() !== "") {
      const heading = headingText(text);
      if (level === 1) this.title ??= heading;
      this.#page.enter(level, heading, paragraph.anchor);
      return;
    }
    this.#page.open("p", true);
    this.#page.text(paragraph.isListItem && this.#tables === 0 ? `- ${text}` : text);
    this.#page.close("p", true, !paragraph.isListItem);
  }
}

/** What the document says about itself. */
const readProperties = (bytes: Uint8Array | undefined): { title?: string; version?: string } => {
  const values: Record<string, string> = {};
  let open = "";
  if (bytes !== undefined)
    readMarkup(utf8(bytes), "xml", {
      open: (name) => {
        open = name;
      },
      text: (text) => {
        values[open] = (values[open] ?? "") + text;
      },
      close: () => {
        open = "";
      },
    });
  const title = headingText(normalise(values["dc:title"] ?? ""));
  const version = headingText(normalise(values["cp:version"] ?? ""));
  return { ...(title === "" ? {} : { title }), ...(version === "" ? {} : { version }) };
};

/** The document itself, then its notes, which lie under no heading. */
const PARTS = ["word/document.xml", "word/footnotes.xml", "word/endnotes.xml"] as const;

export const parseDocx: BinaryParser = ({ bytes, list, limits }) => {
  const archive = openZip(bytes, limits.maxChars * BYTES_PER_CHAR);
  const levelOf = readHeadingStyles(archive.read("word/styles.xml"));
  let heading: string | undefined;
  for (const name of PARTS) {
    const part = archive.read(name);
    if (part === undefined && name === PARTS[0])
      throw new DocumentFailure("unsupported_media", "The archive is not a Word document.");
    if (part === undefined) continue;
    const path = new HeadingPath();
    const reader = new BodyReader(list, path, levelOf);
    readMarkup(utf8(part), "xml", {
      open: (tag, attributes) => reader.open(tag, attributes),
      text: (text) => reader.text(text),
      close: (tag) => reader.close(tag),
    });
    reader.end();
    addPendingHeading(list, path);
    heading ??= reader.title;
  }
  const { title, version } = readProperties(archive.read("docProps/core.xml"));
  return { title: title ?? heading, version };
};
