import type { Section } from "../contract.ts";
import { DocumentFailure, type ReadLimits } from "./limits.ts";

/** Of one heading; longer ones are cut. */
const MAX_HEADING_CHARS = 500;
const MAX_DEPTH = 12;

export const headingText = (text: string): string =>
  text.replace(/\s+/g, " ").trim().slice(0, MAX_HEADING_CHARS).toWellFormed();

/** Without the sign that themes put behind headings for their link. */
export const withoutLinkSign = (text: string): string => {
  const trimmed = text.trimEnd();
  return /[¶#]$/.test(trimmed) ? trimmed.slice(0, -1) : trimmed;
};

/** The sections of a document in order, within what one document may become. */
export class SectionList {
  readonly sections: Section[] = [];
  readonly #limits: ReadLimits;
  #chars = 0;

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  /** Sections without text are left out. */
  add(section: Section): void {
    if (section.text.trim() === "") return;
    this.#chars += section.text.length + section.headings.reduce((sum, { length }) => sum + length, 0);
    if (this.#chars > this.#limits.maxChars)
      throw new DocumentFailure(
        "file_too_large",
        `The document holds more than ${this.#limits.maxChars} characters of text.`,
      );
    if (this.sections.length >= this.#limits.maxSections)
      throw new DocumentFailure(
        "file_too_large",
        `The document has more than ${this.#limits.maxSections} sections.`,
      );
    this.sections.push(section);
  }
}

interface OpenHeading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string | undefined;
}

/**
 * Where in the tree of headings a parser is. A heading that nothing follows is text nevertheless: `pending` gives it until
 * `use` says that a section carries it.
 */
export class HeadingPath {
  #open: OpenHeading[] = [];
  #isUsed = true;

  enter(level: number, text: string, anchor: string | undefined): void {
    this.#open = this.#open.filter((heading) => heading.level < level).slice(0, MAX_DEPTH - 1);
    this.#open.push({ level, text, anchor });
    this.#isUsed = false;
  }

  get headings(): readonly string[] {
    return this.#open.map(({ text }) => text).filter((text) => text !== "");
  }

  get anchor(): string | undefined {
    return this.#open.at(-1)?.anchor;
  }

  use(): void {
    this.#isUsed = true;
  }

  /** The innermost heading, while no section carries it. */
  get pending(): string | undefined {
    return this.#isUsed ? undefined : this.#open.at(-1)?.text;
  }

  /** Whether a heading of this level would lie below the innermost one, and so carry its text. */
  isParentOf(level: number): boolean {
    const innermost = this.#open.at(-1);
    return innermost !== undefined && innermost.level < level;
  }
}
