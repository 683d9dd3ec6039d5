import { addPendingHeading } from "../text/line-sections.ts";
import { readMarkup } from "../text/read-markup.ts";
import { HeadingPath, headingText, type SectionList, withoutLinkSign } from "../text/section-list.ts";
import type { FormatParser } from "./format-parser.ts";
import { surveyPage } from "./html-survey.ts";
import { ANCHORED, AROUND, AROUND_IN_MAIN, BLOCKS, HEADING_LINK, PARAGRAPHS, SKIPPED } from "./html-table.ts";
import { PageText } from "./page-text.ts";

export type Attributes = Readonly<Record<string, string>>;

const HEADING = /^h[1-6]$/;

const isHidden = (attributes: Attributes): boolean =>
  attributes["hidden"] !== undefined ||
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(attributes["style"] ?? "");

/**
 * Reads the text of a page as its tags come, with counters instead of a tree: pages nest as deep as they like. The parser
 * closes every element that it opens.
 */
class PageReader {
  readonly #page: PageText;
  readonly #main: string | undefined;
  readonly #path = new HeadingPath();
  /** Elements open inside one that is skipped, that one included. */
  #skipped = 0;
  /** Elements open inside the main one, that one included. */
  #inMain = 0;
  #heading: { readonly level: number; anchor: string | undefined; text: string } | undefined;
  /** The id of an element that has no text yet. */
  #recentId: string | undefined;

  constructor(list: SectionList, main: string | undefined) {
    this.#page = new PageText(list, this.#path);
    this.#main = main;
  }

  open(name: string, attributes: Attributes): void {
    if (this.#skipped > 0 || this.#isSkipped(name, attributes)) {
      this.#skipped++;
      return;
    }
    if (this.#inMain > 0 || this.#isMain(name, attributes)) this.#inMain++;
    const id = attributes["id"] ?? (name === "a" ? attributes["name"] : undefined);
    if (HEADING.test(name)) this.#openHeading(Number(name[1]), id);
    else {
      if (id !== undefined && ANCHORED.has(name)) this.#noteId(id);
      this.#page.open(name, BLOCKS.has(name));
    }
  }

  text(text: string): void {
    if (this.#skipped > 0 || (this.#main !== undefined && this.#inMain === 0)) return;
    if (this.#heading !== undefined) this.#heading.text += text;
    else this.#page.text(text);
    if (text.trim() !== "") this.#recentId = undefined;
  }

  close(name: string): void {
    if (this.#skipped > 0) {
      this.#skipped--;
      return;
    }
    if (HEADING.test(name)) this.#closeHeading();
    else this.#page.close(name, BLOCKS.has(name), PARAGRAPHS.has(name));
    if (this.#inMain > 0) this.#inMain--;
  }

  end(list: SectionList): void {
    this.#closeHeading();
    this.#page.flush();
    addPendingHeading(list, this.#path);
  }

  #isSkipped(name: string, attributes: Attributes): boolean {
    if (SKIPPED.has(name) || isHidden(attributes)) return true;
    if (this.#heading !== undefined && name === "a" && HEADING_LINK.test(attributes["class"] ?? "")) {
      this.#heading.anchor ??= attributes["href"]?.startsWith("#") ? attributes["href"].slice(1) : undefined;
      return true;
    }
    return (this.#main === undefined ? AROUND : AROUND_IN_MAIN).has(name);
  }

  #isMain(name: string, { role }: Attributes): boolean {
    return this.#main !== undefined && (name === this.#main || role === this.#main);
  }

  #noteId(id: string): void {
    if (this.#heading === undefined) this.#recentId = id;
    else this.#heading.anchor ??= id;
  }

  #openHeading(level: number, id: string | undefined): void {
    this.#closeHeading();
    this.#page.flush();
    this.#heading = { level, anchor: id ?? this.#recentId, text: "" };
    this.#recentId = undefined;
  }

  #closeHeading(): void {
    const heading = this.#heading;
    this.#heading = undefined;
    const text = headingText(withoutLinkSign(heading?.text ?? ""));
    if (heading === undefined || text === "") return;
    this.#page.enter(heading.level, text, heading.anchor);
  }
}

export const parseHtml: FormatParser = ({ text, list }) => {
  const { main, title, licence, version, firstHeading } = surveyPage(text);
  const reader = new PageReader(list, main);
  readMarkup(text, "html", {
    open: (name, attributes) => reader.open(name, attributes),
    text: (part) => reader.text(part),
    close: (name) => reader.close(name),
  });
  reader.end(list);
  return { title: title ?? firstHeading, licence, version };
};
