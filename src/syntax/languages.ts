import { type ContentKind, type Grammar, LANGUAGE_TABLE, type LanguageRow } from "./language-table.ts";

export interface Language {
  /** `python`, `tsx`, `markdown` …; `text` where nothing is known. */
  readonly id: string;
  /** The grammar that reads it, where there is one. */
  readonly grammar: Grammar | undefined;
  readonly kind: ContentKind;
  readonly script?: RegExp | undefined;
  readonly unreadable?: RegExp | undefined;
  readonly keys?: RegExp | undefined;
  readonly isNotebook?: boolean | undefined;
}

/** How many characters of a file decide which language it is. */
const GUESS_CHARS = 20_000;

const index = (list: (row: LanguageRow) => string | undefined): ReadonlyMap<string, LanguageRow> =>
  new Map(
    LANGUAGE_TABLE.flatMap((row) =>
      (list(row) ?? "")
        .split(" ")
        .filter(Boolean)
        .map((item) => [item, row] as const),
    ),
  );

const BY_ID = new Map(LANGUAGE_TABLE.map((row) => [row.id, row] as const));
const BY_EXTENSION = index((row) => row.extensions);
const BY_NAME = index((row) => row.names);
const BY_PROGRAM = index((row) => row.programs);

const UNKNOWN: Language = { id: "text", grammar: undefined, kind: "text" };

/** Extensions that more than one language uses: the first pattern that matches decides. */
const AMBIGUOUS: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  h: [
    [/^\s*(?:@interface|@protocol|@class|#import)\b/m, "objc"],
    [
      /^\s*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|(?:public|private|protected)\s*:)|\bstd::|\bconstexpr\b|\boperator\s*[=<>+\-*()[\]]|^\s*#\s*include\s*<(?:string|vector|map|memory|cstd\w+|type_traits|utility|algorithm|functional)>/m,
      "cpp",
    ],
  ],
  m: [[/^\s*(?:function\b|%|classdef\b)/m, "matlab"]],
  ts: [[/^\uFEFF?\s*<(?:\?xml|!DOCTYPE TS)/, "xml"]],
  inc: [
    [/<\?(?:php|=)/, "php"],
    [/^\s*#\s*(?:include|define|ifdef|ifndef)\b/m, "c"],
    [/^/, "text"],
  ],
  pl: [[/^\s*:-\s/m, "text"]],
  t: [
    [/^\s*(?:use\s+\w|my\s|package\s|#!.*perl)/m, "perl"],
    [/^/, "text"],
  ],
  cls: [[/^\s*(?:public|private|global)\b.*\bclass\b/im, "java"]],
  d: [[/^\S*:\s.*\\$/m, "make"]],
  v: [
    [/^\s*(?:Require|Theorem|Lemma|Definition|Inductive)\b/m, "text"],
    [/^\s*(?:import|fn|pub fn)\b/m, "text"],
  ],
  map: [[/^[^{]/, "text"]],
  pp: [[/^\s*(?:class|define|node)\s+[\w:]+/m, "text"]],
  fs: [[/^\s*#version\b|\bgl_\w+/m, "glsl"]],
  cl: [[/\b__kernel\b|^\s*kernel\s/m, "c"]],
};

const toLanguage = (row: LanguageRow | undefined): Language =>
  row === undefined ? UNKNOWN : { grammar: undefined, kind: "code", ...row };

const byShebang = (start: string): LanguageRow | undefined => {
  if (!start.startsWith("#!") && !start.startsWith("\uFEFF#!")) return undefined;
  const line = start.slice(0, 200).split("\n", 1)[0] ?? "";
  const argv = line
    .replace(/^\uFEFF?#!\s*/, "")
    .trim()
    .split(/\s+/);
  // `#!/usr/bin/env -S python3 -u`: the first argument that is neither env, an option nor an assignment.
  const program = argv
    .map((argument) => argument.split("/").pop() ?? "")
    .find((name) => name !== "env" && !name.startsWith("-") && !name.includes("="));
  return program === undefined ? undefined : BY_PROGRAM.get(program.toLowerCase().replace(/[\d.]+$/, ""));
};

/** The language of a file, by its name and, where that is ambiguous, by how its text starts. */
export const languageOf = (path: string, text = ""): Language => {
  const name = (path.split("/").pop() ?? "").toLowerCase();
  const whole = BY_NAME.get(name);
  if (whole !== undefined) return toLanguage(whole);
  const dot = name.lastIndexOf(".");
  const extension = dot >= 0 ? name.slice(dot + 1) : "";
  const guesses = Object.hasOwn(AMBIGUOUS, extension) ? AMBIGUOUS[extension] : undefined;
  if (guesses !== undefined && text !== "") {
    const start = text.slice(0, GUESS_CHARS);
    const guess = guesses.find(([pattern]) => pattern.test(start));
    if (guess !== undefined) return toLanguage(BY_ID.get(guess[1]));
  }
  const row = BY_EXTENSION.get(extension) ?? byShebang(text);
  if (row !== undefined) return toLanguage(row);
  // `Dockerfile.dev`, `Makefile.am`
  return toLanguage(BY_NAME.get(name.split(".", 1)[0] ?? ""));
};

/** The id of a language that people name so: by its id or by an extension, in any case. */
export const languageNamed = (name: string): string | undefined => {
  const lower = name.toLowerCase().replace(/^\./, "");
  return lower === UNKNOWN.id ? lower : (BY_ID.get(lower) ?? BY_EXTENSION.get(lower))?.id;
};

/** What a language can be called. */
export const LANGUAGE_NAMES: readonly string[] = [...BY_ID.keys(), ...BY_EXTENSION.keys()];

/** The language of an id that `languageOf` or `languageNamed` gave. */
export const languageById = (id: string): Language => toLanguage(BY_ID.get(id));
