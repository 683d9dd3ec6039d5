import type { GuestLanguage } from "./guest-languages.ts";

/** What a model's reply asks for: one program, or why there is none. */
export type Reply =
  | { readonly kind: "code"; readonly code: string }
  | { readonly kind: "no_code" | "two_programs" | "cut_off" | "other_language" | "too_long" };

const TAGS: Readonly<Record<string, GuestLanguage>> = {
  js: "javascript",
  javascript: "javascript",
  py: "python",
  python: "python",
};

/** Longer than any program that a model has a reason to write. */
const MAX_CODE_CHARS = 65_536;

/** Of a line without the blanks at its end: with a second repetition for these, a long line would take quadratic time. */
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)$/;

interface Block {
  readonly tag: string;
  readonly code: string;
  readonly isClosed: boolean;
}

/** Fenced blocks, read line by line: text that only looks like a marker of the session means nothing. */
const blocksOf = (text: string): readonly Block[] => {
  const blocks: Block[] = [];
  let open: { readonly fence: string; readonly tag: string; readonly lines: string[] } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, fence, tag = ""] = FENCE.exec(line.trimEnd()) ?? [];
    if (open === undefined) {
      if (fence !== undefined) open = { fence, tag: tag.toLowerCase(), lines: [] };
    } else if (fence?.startsWith(open.fence) === true && tag === "") {
      blocks.push({ tag: open.tag, code: open.lines.join("\n"), isClosed: true });
      open = undefined;
    } else open.lines.push(line);
  }
  if (open !== undefined) blocks.push({ tag: open.tag, code: open.lines.join("\n"), isClosed: false });
  return blocks;
};

/** The one fenced block that is tagged as code of the session's language. */
export const readReply = (text: string, language: GuestLanguage): Reply => {
  const programs = blocksOf(text).filter(({ tag }) => Object.hasOwn(TAGS, tag));
  const [program, another] = programs;
  if (program === undefined) return { kind: "no_code" };
  if (another !== undefined) return { kind: "two_programs" };
  if (!program.isClosed) return { kind: "cut_off" };
  if (TAGS[program.tag] !== language) return { kind: "other_language" };
  if (program.code.trim() === "") return { kind: "no_code" };
  if (program.code.length > MAX_CODE_CHARS) return { kind: "too_long" };
  return { kind: "code", code: program.code };
};
