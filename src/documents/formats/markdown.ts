import GithubSlugger from "github-slugger";
import MarkdownIt, { type Token } from "markdown-it";
import { readFrontMatter } from "../text/front-matter.ts";
import { type Block, type Part, sectionsOfLines } from "../text/line-sections.ts";
import { headingText, type SectionList } from "../text/section-list.ts";
import type { FormatParser } from "./format-parser.ts";
import { TABLE_TOKEN, tableRule } from "./markdown-table.ts";

/** Only blocks are read: nobody renders here, and inline rules are where Markdown is slow. */
const blocks = new MarkdownIt({ html: true }).disable(
  ["inline", "linkify", "replacements", "smartquotes", "text_join"],
  true,
);
blocks.block.ruler.at("table", tableRule, { alt: ["paragraph", "reference"] });
/** For headings, whose anchors are made of their text without markup. */
const inline = new MarkdownIt({ html: true });

const MAX_INLINE_CHARS = 2000;

const textOfTokens = (tokens: readonly Token[]): string =>
  tokens
    .map(({ type, content, children }) => {
      if (type === "image") return children === null ? content : textOfTokens(children);
      if (type === "text" || type === "code_inline" || type === "text_special") return content;
      return type === "softbreak" || type === "hardbreak" ? " " : "";
    })
    .join("");

const plainText = (source: string): string => {
  const [token] = inline.parseInline(source, {});
  // A heading may be nothing but a tag, such as `<Suspense>`.
  return textOfTokens(token?.children ?? []).trim() || source;
};

/** `{#anchor}`, as kramdown, MkDocs and Docusaurus write it. */
const OWN_ANCHOR = /\s*\{[^{}]*#([\w.:-]+)[^{}]*\}\s*$/;
/** A heading in HTML, as many a README begins. */
const HTML_HEADING = /^\s*<h([1-6])(?:\s[^>]{0,500})?>([\s\S]{0,2000}?)<\/h\1>\s*$/i;
const HTML_ID = /\s(?:id|name)\s*=\s*["']?([\w.:-]+)/i;

const headingOf = (content: string, level: number, slugger: GithubSlugger): Block["heading"] => {
  const source = content.slice(0, MAX_INLINE_CHARS);
  const own = OWN_ANCHOR.exec(source)?.[1];
  const text = headingText(plainText(own === undefined ? source : source.replace(OWN_ANCHOR, "")));
  return { level, text, anchor: own ?? (slugger.slug(text) || undefined) };
};

const htmlHeading = (source: string, slugger: GithubSlugger): Block["heading"] => {
  const [whole = "", level = "1", inner = ""] = HTML_HEADING.exec(source) ?? [];
  if (whole === "") return undefined;
  const text = headingText(inner.replace(/<[^>]*>/g, " "));
  const own = HTML_ID.exec(whole.slice(0, whole.indexOf(">")))?.[1];
  return text === "" ? undefined : { level: Number(level), text, anchor: own ?? slugger.slug(text) };
};

const KINDS: Readonly<Record<string, Block["kind"]>> = {
  fence: "code",
  code_block: "code",
  [TABLE_TOKEN]: "table",
};

/** What has a kind or a heading of its own, at the outermost level: a heading in a quote is the quote's. */
function* blocksOf(tokens: readonly Token[], slugger: GithubSlugger): Generator<Block> {
  for (const [index, token] of tokens.entries()) {
    if (token.level !== 0 || token.map === null) continue;
    const [start, end] = token.map;
    const kind = KINDS[token.type];
    if (kind !== undefined) yield { start, end, kind };
    const heading =
      token.type === "heading_open"
        ? headingOf(tokens[index + 1]?.content ?? "", Number(token.tag.slice(1)), slugger)
        : token.type === "html_block"
          ? htmlHeading(token.content, slugger)
          : undefined;
    if (heading !== undefined) yield { start, end, kind: "heading", heading };
  }
}

/** The sections of a Markdown text; its first heading of the first level. Used for cells of notebooks as well. */
export const addMarkdown = (
  lines: readonly string[],
  list: SectionList,
  slugger: GithubSlugger,
  part?: Part,
): string | undefined => {
  const found = [...blocksOf(blocks.parse(lines.join("\n"), {}), slugger)];
  sectionsOfLines(lines, found, list, part);
  return found.find(({ heading }) => heading?.level === 1)?.heading?.text;
};

export const parseMarkdown: FormatParser = ({ text, list }) => {
  const lines = text.split("\n");
  const front = readFrontMatter(lines);
  // Blank instead of removed, so that lines keep their numbers.
  const body = lines.map((line, index) => (index < front.lines ? "" : line));
  const title = addMarkdown(body, list, new GithubSlugger());
  const { licence, version, warnings } = front;
  return { title: front.title ?? title, licence, version, warnings };
};
