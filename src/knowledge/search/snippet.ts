import { shapeOf } from "../../retrieve/rank/query-shape.ts";
import { tokenize } from "../../retrieve/terms/tokenize.ts";
import { sentencesOf } from "./sentences.ts";

/** Some 200 tokens: the part of a passage that answers, with a little around it. */
const MAX_CHARS = 800;

/** The part of a passage in which the terms of a question stand closest together; short passages are whole. */
const snippetIn = (text: string, wanted: ReadonlySet<string>): string => {
  if (text.length <= MAX_CHARS) return text;
  const sentences = sentencesOf(text);
  const found = sentences.map(
    ({ text: sentence }) => new Set(tokenize(sentence).filter((term) => wanted.has(term))),
  );
  let best = { score: -1, from: 0, to: 0 };
  for (let from = 0; from < sentences.length; from++) {
    const terms = new Set<string>();
    let chars = 0;
    for (let to = from; to < sentences.length; to++) {
      chars += (sentences[to]?.text.length ?? 0) + 1;
      if (chars > MAX_CHARS && to > from) break;
      for (const term of found[to] ?? []) terms.add(term);
      // Of windows with the same terms the shortest tells where they are; ties go to the first.
      const score = terms.size - chars / (100 * MAX_CHARS);
      if (score > best.score) best = { score, from, to };
    }
  }
  const start = sentences[best.from]?.start ?? 0;
  const end = Math.min(
    text.length,
    Math.max(start + MAX_CHARS, sentences[best.to]?.end ?? 0),
    start + 2 * MAX_CHARS,
  );
  const cut = text.slice(start, end).trim();
  return `${start > 0 ? "… " : ""}${cut}${end < text.length ? " …" : ""}`;
};

/** Cuts passages for a question, whose terms are the same for all of them. */
export const snippetsFor = (query: string): ((text: string) => string) => {
  const wanted = new Set(shapeOf(query).terms.keys());
  return (text) => snippetIn(text, wanted);
};
