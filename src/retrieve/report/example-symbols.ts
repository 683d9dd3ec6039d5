import type { FileSymbols } from "../../symbols/extract/file-symbols.ts";
import { extractSymbols } from "../../symbols/extract-symbols.ts";
import { languageById, languageNamed } from "../../syntax/languages.ts";
import { parseInputOf } from "../../syntax/parse-input.ts";
import { createParsers, PARSER_LIMITS, type ParserLimits, type Parsers } from "../../syntax/parsers.ts";
import type { Example } from "./read-report.ts";

export interface ExampleSymbols {
  readonly language: string;
  readonly symbols: FileSymbols;
}

/** The answer waits for it: what takes longer to parse is no example. */
const LIMITS: ParserLimits = {
  ...PARSER_LIMITS,
  maxChars: 16_384,
  steps: 200,
  maxSteps: 600,
  timeoutMs: 150,
};

/** Examples in more languages than this are not read. */
const MAX_LANGUAGES = 2;

/** Later examples of a report go on with the names of earlier ones, so those of one language are read as one. */
const joinByLanguage = (
  examples: readonly Example[],
  mainLanguage: string | undefined,
): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>();
  for (const { language, text } of examples) {
    const named = language === "" ? undefined : languageNamed(language);
    const known = named ?? mainLanguage;
    if (known !== undefined) texts.set(known, `${texts.get(known) ?? ""}${text}\n`);
  }
  return new Map([...texts].slice(0, MAX_LANGUAGES));
};

/** Reads the code of reports with the parsers of the index. */
export const createExampleReader = () => {
  let opening: Promise<Parsers> | undefined;
  const read = async (
    examples: readonly Example[],
    mainLanguage: string | undefined,
  ): Promise<readonly ExampleSymbols[]> => {
    const found: ExampleSymbols[] = [];
    for (const [language, text] of joinByLanguage(examples, mainLanguage)) {
      const input = parseInputOf(languageById(language), text.slice(0, LIMITS.maxChars));
      if (input === undefined) continue;
      opening ??= createParsers(LIMITS);
      const { tree } = await (await opening).parse(input.grammar, input.text);
      if (tree === undefined) continue;
      try {
        found.push({ language, symbols: extractSymbols(tree, input.language, input.text) });
      } finally {
        tree.delete();
      }
    }
    return found;
  };
  return { read, close: (): void => void opening?.then((parsers) => parsers.close()) };
};
