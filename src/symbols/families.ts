/** Languages whose files can name each other's symbols; a language of no family is one by itself. */
export type Family = KnownFamily | (string & {});

type KnownFamily =
  | "ecmascript"
  | "python"
  | "go"
  | "rust"
  | "jvm"
  | "csharp"
  | "c"
  | "ruby"
  | "php"
  | "swift";

const FAMILIES: Readonly<Record<string, KnownFamily>> = {
  typescript: "ecmascript",
  tsx: "ecmascript",
  javascript: "ecmascript",
  jsx: "ecmascript",
  vue: "ecmascript",
  svelte: "ecmascript",
  python: "python",
  go: "go",
  rust: "rust",
  java: "jvm",
  kotlin: "jvm",
  scala: "jvm",
  groovy: "jvm",
  csharp: "csharp",
  c: "c",
  cpp: "c",
  objc: "c",
  cuda: "c",
  ruby: "ruby",
  php: "php",
  swift: "swift",
};

export const familyOf = (language: string): Family =>
  (Object.hasOwn(FAMILIES, language) ? FAMILIES[language] : undefined) ?? language;

export type Reach = "file" | "folder" | "package" | "project";

const REACH: Readonly<Record<KnownFamily, Reach>> = {
  ecmascript: "file",
  python: "file",
  rust: "file",
  go: "folder",
  jvm: "package",
  csharp: "project",
  php: "package",
  c: "project",
  ruby: "project",
  swift: "project",
};

/** Where a plain name that no import explains may be of another file. */
export const reachOf = (family: Family): Reach =>
  Object.hasOwn(REACH, family) ? (REACH[family as KnownFamily] ?? "project") : "project";
