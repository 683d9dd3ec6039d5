import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import { sentencesOf } from "../search/sentences.ts";
import { blocksOf } from "./blocks.ts";

/** What an answer quotes as a whole: a sentence, or a block that means nothing in pieces: code, rows, the steps of a list. */
export interface Unit {
  readonly text: string;
  /** Its line breaks are part of it. */
  readonly isBlock: boolean;
  /** Its heading is part of what it says, however short it is: the value of a key, or steps. */
  readonly needsHeading?: boolean;
}

/** Of a longer block, its first lines. */
const MAX_BLOCK_CHARS = 1500;

/** Marks of HTML that show nothing: anchors, and elements without content. */
const EMPTY_MARKUP =
  /<(a|span|div|p)\b[^<>]{0,500}>[ \t]*<\/\1>|<(?:a|br|hr)\b[^<>]{0,500}\/?>(?=[ \t]*$)/gim;

/** Comments of HTML, which show nothing either; one without an end is text. */
const withoutComments = (text: string): string => {
  let kept = "";
  let from = 0;
  for (;;) {
    const start = text.indexOf("<!--", from);
    const end = start < 0 ? -1 : text.indexOf("-->", start + 4);
    if (end < 0) return kept + text.slice(from);
    kept += text.slice(from, start);
    from = end + 3;
  }
};

/** `- Default: 5`: a line of a list that gives a value. */
const PAIR = /^[-*+•][ \t]+(?:\*\*|`|_)?[\p{L}\p{N}][^:\n]{0,60}:(?:\*\*|`|_)?[ \t]+\S/u;

/** Whole lines only; the end of a fence stays, since what follows would be code without it. */
const clipBlock = (text: string): string => {
  if (text.length <= MAX_BLOCK_CHARS) return text;
  const kept = text.slice(0, text.lastIndexOf("\n", MAX_BLOCK_CHARS));
  const fence = /^[ \t]*(`{3,}|~{3,})/.exec(text)?.[1];
  return `${kept}\n…${fence === undefined ? "" : `\n${fence}`}`;
};

const blockOf = (text: string): readonly Unit[] => {
  const body = text.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
  const needsHeading = /^ {0,3}\d/.test(body);
  return body === ""
    ? []
    : [{ text: clipBlock(body), isBlock: true, ...(needsHeading ? { needsHeading } : {}) }];
};

/** "To restore a backup:" means nothing without the block that it announces. */
const joinAnnounced = (units: readonly Unit[]): readonly Unit[] => {
  const joined: Unit[] = [];
  for (const unit of units) {
    const before = joined.at(-1);
    const isAnnounced = unit.isBlock && before?.isBlock === false && before.text.endsWith(":");
    if (isAnnounced) joined[joined.length - 1] = { ...unit, text: `${before.text}\n\n${unit.text}` };
    else joined.push(unit);
  }
  return joined;
};

const sentenceUnits = (text: string): readonly Unit[] =>
  sentencesOf(withoutComments(text).replace(EMPTY_MARKUP, "")).map((one) => ({
    text: one.text,
    isBlock: false,
    ...(PAIR.test(one.text) ? { needsHeading: true } : {}),
  }));

/** A passage in units, in its order. */
export const unitsOf = (text: string, kind: ChunkKind): readonly Unit[] => {
  if (kind !== "prose") {
    // A long listing has parts of its own, which its blank lines show.
    return text.length <= MAX_BLOCK_CHARS ? blockOf(text) : text.split(/\n[ \t]*\n/).flatMap(blockOf);
  }
  const units: Unit[] = [];
  let from = 0;
  for (const { start, end } of blocksOf(text)) {
    units.push(...sentenceUnits(text.slice(from, start)), ...blockOf(text.slice(start, end)));
    from = end;
  }
  return joinAnnounced([...units, ...sentenceUnits(text.slice(from))]);
};
