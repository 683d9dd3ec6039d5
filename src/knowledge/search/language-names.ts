/** Languages whose names mean nothing else, by the endings of their files. */
const LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  python: ["py", "pyi"],
  javascript: ["js", "mjs", "cjs", "jsx"],
  typescript: ["ts", "tsx", "mts", "cts"],
  java: ["java"],
  kotlin: ["kt", "kts"],
  rust: ["rs"],
  ruby: ["rb"],
  php: ["php"],
  scala: ["scala"],
  haskell: ["hs"],
  elixir: ["ex", "exs"],
  golang: ["go"],
  csharp: ["cs"],
  cpp: ["cpp", "cc", "cxx", "hpp", "hh"],
};

const LANGUAGE_OF = new Map(
  Object.entries(LANGUAGES).flatMap(([language, endings]) =>
    endings.map((ending) => [ending, language] as const),
  ),
);

/** Finds the language of at least half of the documents, if there is one. */
export const createLanguageCount = () => {
  const counts = new Map<string | undefined, number>();
  let documents = 0;
  return {
    add: (uri: string): void => {
      const language = LANGUAGE_OF.get(/\.([a-z]+)$/i.exec(uri)?.[1]?.toLowerCase() ?? "");
      counts.set(language, (counts.get(language) ?? 0) + 1);
      documents++;
    },
    common: (): string | undefined =>
      Object.keys(LANGUAGES).find(
        (language) => documents > 0 && 2 * (counts.get(language) ?? 0) >= documents,
      ),
  };
};

/**
 * Without the name of the language that everything is written in, which does not distinguish one document from
 * another.
 */
export const withoutLanguage = (query: string, language: string | undefined): string => {
  if (language === undefined) return query;
  const rest = query.replace(new RegExp(`\\b${language}\\b`, "gi"), " ").trim();
  return rest === "" ? query : rest;
};
