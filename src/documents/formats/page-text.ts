import type { Section } from "../contract.ts";
import { addPendingHeading } from "../text/line-sections.ts";
import type { HeadingPath, SectionList } from "../text/section-list.ts";

/** Collects the running text of a page into sections: prose, preformatted text, tables. */
export class PageText {
  readonly #list: SectionList;
  readonly #path: HeadingPath;
  #lines: string[] = [];
  #line = "";
  #cells: string[] = [];
  /** Elements of the kind that are open. */
  #preformatted = 0;
  #tables = 0;
  #isInCell = false;

  constructor(list: SectionList, path: HeadingPath) {
    this.#list = list;
    this.#path = path;
  }

  open(name: string, isBlock: boolean): void {
    if (name === "pre") {
      if (this.#preformatted === 0) this.flush();
      this.#preformatted++;
    } else if (name === "table") {
      if (this.#tables === 0) this.flush();
      this.#tables++;
    } else if (isBlock) this.#endLine();
    if (name === "td" || name === "th") this.#isInCell = true;
    if (name === "li" && this.#tables === 0) this.#line = "- ";
  }

  text(text: string): void {
    this.#line += this.#preformatted > 0 && this.#tables === 0 ? text : text.replace(/\s+/g, " ");
  }

  close(name: string, isBlock: boolean, isParagraph: boolean): void {
    if (name === "pre" && this.#preformatted > 0) {
      if (this.#preformatted === 1) this.flush();
      this.#preformatted--;
    } else if (name === "table" && this.#tables > 0) {
      if (this.#tables === 1) this.flush();
      this.#tables--;
    } else if (name === "td" || name === "th") this.#endCell();
    else if (name === "tr") this.#endRow();
    else if (isBlock || name === "caption") this.#endLine();
    if (isParagraph && this.#tables === 0 && this.#lines.at(-1) !== "") this.#lines.push("");
  }

  enter(level: number, heading: string, anchor: string | undefined): void {
    this.flush();
    if (!this.#path.isParentOf(level)) addPendingHeading(this.#list, this.#path);
    this.#path.enter(level, heading, anchor);
  }

  /** Ends the section. */
  flush(): void {
    if (this.#tables > 0) this.#endRow();
    this.#endLine();
    while (this.#lines[0] === "") this.#lines.shift();
    const text = this.#lines.join("\n").trimEnd();
    this.#lines = [];
    if (text === "") return;
    const { headings, anchor } = this.#path;
    this.#list.add({ headings, anchor, text, kind: this.#kind() });
    this.#path.use();
  }

  #kind(): Section["kind"] {
    if (this.#tables > 0) return "table";
    return this.#preformatted > 0 ? "code" : "prose";
  }

  #endLine(): void {
    // Lines of a cell stay in its row.
    if (this.#tables > 0 && this.#isInCell) {
      this.#line += " ";
      return;
    }
    const line = this.#preformatted > 0 && this.#tables === 0 ? this.#line : this.#line.trim();
    this.#line = "";
    if (line.trim() !== "" && line !== "-") this.#lines.push(line);
  }

  #endCell(): void {
    this.#cells.push(this.#line.replace(/\s+/g, " ").trim());
    this.#line = "";
    this.#isInCell = false;
  }

  #endRow(): void {
    if (this.#line.trim() !== "") this.#endCell();
    const row = this.#cells.join(" | ");
    this.#cells = [];
    if (row.replaceAll("|", "").trim() !== "") this.#lines.push(row);
    this.#line = "";
  }
}
