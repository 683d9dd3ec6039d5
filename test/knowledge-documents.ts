import { createHash } from "node:crypto";
import { LlmcError } from "../src/base/error.ts";
import type {
  DocumentParser,
  ParsedDocument,
  ReadSource,
  Section,
  SourceItem,
} from "../src/documents/contract.ts";

/** Sources by name, and their documents by path. A text of `!` cannot be read; one of `?` cannot be parsed. */
export type TestSources = Record<string, Readonly<Record<string, string>>>;

/** Sources that lie in memory, in the place of folders. */
export const readTestSource = (sources: TestSources): ReadSource =>
  async function* (source) {
    const documents = sources[source];
    if (documents === undefined) throw new LlmcError("file_not_found", `There is no source ${source}.`);
    for (const [id, text] of Object.entries(documents)) {
      const item: SourceItem =
        text === "!"
          ? { kind: "failure", id, error: new LlmcError("permission_denied", "It cannot be read.") }
          : {
              kind: "document",
              id,
              name: id,
              bytes: new TextEncoder().encode(text),
              contentHash: createHash("sha256").update(text).digest("base64url"),
              licence: "CC-BY-4.0",
            };
      yield item;
    }
  };

const sectionsOf = (text: string): readonly Section[] => {
  const lines = text.split("\n");
  const starts = lines.flatMap((line, at) => (/^#+ /.test(line) ? [at] : []));
  const bounds = starts[0] === 0 ? starts : [0, ...starts];
  return bounds.flatMap((from, at): Section[] => {
    const to = (bounds[at + 1] ?? lines.length) - 1;
    const body = lines.slice(from, to + 1).join("\n");
    const heading = /^#+ (.*)$/.exec(lines[from] ?? "")?.[1];
    if (body.trim() === "") return [];
    return [
      {
        headings: heading === undefined ? [] : [heading],
        ...(heading === undefined ? {} : { anchor: heading.toLowerCase().replace(/\W+/g, "-") }),
        startLine: from + 1,
        endLine: to + 1,
        text: body,
        kind: "prose",
      },
    ];
  });
};

/** Markdown by its headings: as much of a parser as a test of knowledge bases needs. */
export const testParser: DocumentParser = {
  parse: async ({ bytes, name }): Promise<ParsedDocument> => {
    const text = new TextDecoder().decode(bytes);
    if (text === "?") throw new LlmcError("invalid_args", "The document is broken.");
    const sections = sectionsOf(text);
    return {
      title: sections[0]?.headings[0] ?? name,
      format: "markdown",
      sections,
      warnings: [],
    };
  },
};
