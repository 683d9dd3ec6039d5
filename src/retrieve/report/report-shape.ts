import { type QueryShape, shapeOf } from "../rank/query-shape.ts";
import type { Report } from "./read-report.ts";
import { MAX_REPORT_CHARS } from "./report-lines.ts";

/**
 * What a term weighs by the parts that have it; a term of several parts has the sum. Title and prose say what is wrong, the
 * title in the fewest words. Code shows how to get there, mostly through what everybody uses: it counts half, whether the
 * reporter wrote it or a trace shows it. Flat: a title of 1 to 4 and examples of 0.25 to 1 find the same files.
 */
const PART_WEIGHTS = { title: 2, prose: 1, messages: 1, examples: 0.5, traced: 0.5 };

/** More than a text of 32 KB has; what has more is a list of words, and would only take time. */
const MAX_TERMS = 3000;

const partsOf = ({ title, prose, messages, examples, traced }: Report) => [
  [title, PART_WEIGHTS.title] as const,
  [prose, PART_WEIGHTS.prose] as const,
  [messages.join("\n"), PART_WEIGHTS.messages] as const,
  [examples.map(({ text }) => text).join("\n"), PART_WEIGHTS.examples] as const,
  [traced, PART_WEIGHTS.traced] as const,
];

/** What a report asks for, in the terms of the ranking of short questions. */
export const reportShape = (report: Report): QueryShape => {
  const title = shapeOf(report.title);
  const terms = new Map<string, number>();
  for (const [text, weight] of partsOf(report))
    for (const term of shapeOf(text, MAX_REPORT_CHARS).terms.keys())
      if (terms.has(term) || terms.size < MAX_TERMS) terms.set(term, (terms.get(term) ?? 0) + weight);
  return {
    ...title,
    terms,
    // Half a page has the words of every other file name; those of the title are chosen.
    stems: title.stems,
    // Names in code are resolved by the symbol graph.
    names: new Map([...title.names, ...shapeOf(report.prose, MAX_REPORT_CHARS).names]),
    owner: "",
    isSymbol: false,
  };
};

/** What is compared with the vectors of chunks. */
export const reportText = ({ title, prose }: Report): string => `${title}\n${prose}`;
