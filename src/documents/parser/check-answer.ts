import { isRecord } from "../../base/is-record.ts";
import type { ParsedDocument, Section } from "../contract.ts";
import { FORMATS } from "../formats-table.ts";
import { licenceOfText, spdxExpression } from "../licence/licence-of-text.ts";
import type { ReadAnswer } from "../reader/messages.ts";
import { FAILURE_CODES, type ReadLimits } from "../text/limits.ts";

/** Bounds on what surrounds the text. */
const MAX_TITLE_CHARS = 500;
const MAX_HEADINGS = 12;
const MAX_ANCHOR_CHARS = 2000;
const MAX_WARNINGS = 100;
const MAX_MESSAGE_CHARS = 300;

const KINDS: readonly unknown[] = ["prose", "code", "table"] satisfies Section["kind"][];

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
const CONTROL_OR_BREAK = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const refuse = (what: string): never => {
  throw new TypeError(`${what} is not what a reader sends`);
};

const line = (value: unknown, maxChars: number): string =>
  typeof value === "string" && value.length <= maxChars && !CONTROL_OR_BREAK.test(value)
    ? value
    : refuse("a line");

const optional = <T>(value: unknown, check: (value: unknown) => T): T | undefined =>
  value === undefined ? undefined : check(value);

const count = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : refuse("a number");

const items = (value: unknown, max: number): readonly unknown[] =>
  Array.isArray(value) && value.length <= max ? value : refuse("a list");

const anchorOf = (value: unknown): string | undefined => {
  const anchor = line(value, MAX_ANCHOR_CHARS).trim();
  // No link leads to one with blanks in it.
  return anchor === "" || /\s/.test(anchor) ? undefined : anchor;
};

const sectionOf = (value: unknown): Section => {
  if (!isRecord(value)) return refuse("a section");
  const { text, kind } = value;
  if (typeof text !== "string" || CONTROL.test(text) || !text.isWellFormed()) return refuse("a text");
  if (!KINDS.includes(kind)) return refuse("a kind");
  const [startLine, endLine] = [optional(value["startLine"], count), optional(value["endLine"], count)];
  if ((startLine === undefined) !== (endLine === undefined) || (startLine ?? 0) > (endLine ?? 0))
    return refuse("a range of lines");
  return {
    headings: items(value["headings"], MAX_HEADINGS).map((heading) => line(heading, MAX_TITLE_CHARS)),
    anchor: optional(value["anchor"], anchorOf),
    page: optional(value["page"], count),
    startLine,
    endLine,
    text,
    kind: kind as Section["kind"],
  };
};

/** What documents call their licence is not always an expression of SPDX. */
const licenceOf = (value: unknown): string | undefined => {
  const text = line(value, MAX_TITLE_CHARS);
  return spdxExpression(text) ?? licenceOfText(text);
};

const documentOf = (value: unknown, { maxChars, maxSections }: ReadLimits): ParsedDocument => {
  if (!isRecord(value)) return refuse("a document");
  const format = FORMATS.find((one) => one === value["format"]) ?? refuse("a format");
  const sections = items(value["sections"], maxSections).map(sectionOf);
  const chars = sections.reduce((sum, { text }) => sum + text.length, 0);
  if (chars > maxChars) return refuse("so much text");
  return {
    title: line(value["title"], MAX_TITLE_CHARS),
    format,
    sections,
    licence: optional(value["licence"], licenceOf),
    version: optional(value["version"], (version) => line(version, MAX_TITLE_CHARS)),
    warnings: items(value["warnings"], MAX_WARNINGS).map((warning) => line(warning, MAX_MESSAGE_CHARS)),
  };
};

/** An answer of a process that may be hostile: throws unless it has the shape of one, and takes nothing else from it. */
export const checkAnswer = (bytes: Buffer, limits: ReadLimits): ReadAnswer => {
  const answer: unknown = JSON.parse(bytes.toString("utf8"));
  if (!isRecord(answer)) return refuse("an answer");
  const { failure } = answer;
  if (failure === undefined) return { document: documentOf(answer["document"], limits) };
  if (!isRecord(failure)) return refuse("a failure");
  const code = FAILURE_CODES.find((one) => one === failure["code"]) ?? refuse("a code");
  return { failure: { code, message: line(failure["message"], MAX_MESSAGE_CHARS) } };
};
