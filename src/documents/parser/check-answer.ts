import { isRecord } from "../../base/is-record.ts";
import type { ParsedDocument, Section } from "../contract.ts";
import {
  anchor,
  count,
  headings,
  items,
  line,
  lineRange,
  MAX_MESSAGE_CHARS,
  MAX_TITLE_CHARS,
  MAX_WARNINGS,
  optional,
  refuse,
  text,
} from "../document-checks.ts";
import { FORMATS } from "../formats-table.ts";
import { licenceOfText, spdxExpression } from "../licence/licence-of-text.ts";
import type { ReadAnswer } from "../reader/messages.ts";
import { FAILURE_CODES, type ReadLimits } from "../text/limits.ts";

const KINDS: readonly unknown[] = ["prose", "code", "table"] satisfies Section["kind"][];

const sectionOf = (value: unknown): Section => {
  if (!isRecord(value)) return refuse("a section");
  const { kind } = value;
  if (!KINDS.includes(kind)) return refuse("a kind");
  return {
    headings: headings(value["headings"]),
    anchor: optional(value["anchor"], anchor),
    page: optional(value["page"], count),
    ...lineRange(value),
    text: text(value["text"]),
    kind: kind as Section["kind"],
  };
};

/** What documents call their licence is not always an expression of SPDX. */
const licenceOf = (value: unknown): string | undefined => {
  const named = line(value, MAX_TITLE_CHARS);
  return spdxExpression(named) ?? licenceOfText(named);
};

const documentOf = (value: unknown, { maxChars, maxSections }: ReadLimits): ParsedDocument => {
  if (!isRecord(value)) return refuse("a document");
  const format = FORMATS.find((one) => one === value["format"]) ?? refuse("a format");
  const sections = items(value["sections"], maxSections).map(sectionOf);
  const chars = sections.reduce((sum, { text: held }) => sum + held.length, 0);
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
