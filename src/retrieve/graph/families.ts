/** Languages whose files can name each other's symbols. */
export type Family =
  | "ecmascript"
  | "python"
  | "go"
  | "rust"
  | "jvm"
  | "csharp"
  | "c"
  | "ruby"
  | "php"
  | "swift"
  | "other";

const FAMILIES: Readonly<Record<string, Family>> = {
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
  (Object.hasOwn(FAMILIES, language) ? FAMILIES[language] : undefined) ?? "other";

/** Where a plain name that no import explains may be of another file. */
export const NAMES_REACH: Readonly<Record<Family, "file" | "folder" | "package" | "project">> = {
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
  other: "project",
};
