/** A part of a text: its lines, from 0, and the text itself. */
export interface TextPart {
  readonly fromLine: number;
  readonly toLine: number;
  readonly text: string;
}

/** About 450 tokens: a few paragraphs, which is what an answer is found in. */
const TARGET_CHARS = 1800;
/** No part is longer. */
export const MAX_PASSAGE_CHARS = 2600;

interface Block {
  readonly fromLine: number;
  readonly toLine: number;
  readonly text: string;
  /** It is a part of a line. */
  readonly isPiece: boolean;
  /** It follows the block before in the same line. */
  readonly isInline: boolean;
}

const SENTENCE_END = /[.!?…。！？]["'”’)\]]*\s+/g;

/** The last good position to cut before `max`: after a sentence, else after a space, never inside a character. */
const cutBefore = (text: string, max: number): number => {
  const head = text.slice(0, max);
  let end = 0;
  for (const { index, 0: found } of head.matchAll(SENTENCE_END)) end = index + found.length;
  if (end > max / 2) return end;
  const space = head.lastIndexOf(" ");
  if (space > max / 2) return space + 1;
  return /[\uD800-\uDBFF]$/.test(head) ? max - 1 : max;
};

const splitLine = (line: string, at: number): readonly Block[] => {
  const blocks: Block[] = [];
  for (let rest = line; rest !== ""; ) {
    const end = rest.length <= MAX_PASSAGE_CHARS ? rest.length : cutBefore(rest, MAX_PASSAGE_CHARS);
    blocks.push({
      fromLine: at,
      toLine: at,
      text: rest.slice(0, end),
      isPiece: line.length > MAX_PASSAGE_CHARS,
      isInline: blocks.length > 0,
    });
    rest = rest.slice(end);
  }
  return blocks;
};

/** Paragraphs; one that is too long for a part falls into its lines, and a line that is too long into sentences. */
const blocksOf = (text: string): readonly Block[] => {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let from = 0; from < lines.length; ) {
    if (lines[from]?.trim() === "") {
      from++;
      continue;
    }
    let to = from;
    while (to + 1 < lines.length && lines[to + 1]?.trim() !== "") to++;
    const paragraph = lines.slice(from, to + 1);
    const joined = paragraph.join("\n");
    if (joined.length <= MAX_PASSAGE_CHARS)
      blocks.push({ fromLine: from, toLine: to, text: joined, isPiece: false, isInline: false });
    else
      paragraph.forEach((line, at) => {
        blocks.push(...splitLine(line, from + at));
      });
    from = to + 1;
  }
  return blocks;
};

/** Whole lines are taken as they stand, with what is between them; pieces of a line are put together as they were. */
const join = (blocks: readonly Block[], lines: readonly string[]): TextPart | undefined => {
  const [head, tail] = [blocks[0], blocks.at(-1)];
  if (head === undefined || tail === undefined) return undefined;
  const { fromLine } = head;
  const { toLine } = tail;
  const text = blocks.some(({ isPiece }) => isPiece)
    ? blocks.map((block, at) => (at === 0 || block.isInline ? block.text : `\n${block.text}`)).join("")
    : lines.slice(fromLine, toLine + 1).join("\n");
  return { fromLine, toLine, text: text.trimEnd() };
};

/** Cuts a text into parts of about the target size, between paragraphs where that is possible. Nothing but blank lines is lost. */
export const splitText = (text: string): readonly TextPart[] => {
  const lines = text.split("\n");
  const parts: TextPart[] = [];
  let held: Block[] = [];
  let chars = 0;
  const flush = (): void => {
    const part = join(held, lines);
    if (part !== undefined && part.text.trim() !== "") parts.push(part);
    held = [];
    chars = 0;
  };
  for (const block of blocksOf(text)) {
    // Between two blocks, one blank line is counted with the first; further ones are part of the text as well.
    let blank = -1;
    for (let at = (held.at(-1)?.toLine ?? block.fromLine) + 1; at < block.fromLine; at++)
      blank += (lines[at]?.length ?? 0) + 1;
    const needed = block.text.length + 2 + Math.max(0, blank);
    const isTooMuch = chars + block.text.length > TARGET_CHARS && chars > TARGET_CHARS / 4;
    const isFull = held.length > 0 && (isTooMuch || chars + needed > MAX_PASSAGE_CHARS);
    if (isFull) flush();
    held.push(block);
    chars += isFull ? block.text.length + 2 : needed;
  }
  flush();
  return parts;
};
