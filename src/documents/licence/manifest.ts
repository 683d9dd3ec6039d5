import { isRecord } from "../../base/is-record.ts";
import { licenceOfText, spdxExpression } from "./licence-of-text.ts";

/** What a project says about itself. */
export interface ProjectFacts {
  readonly licence?: string | undefined;
  readonly version?: string | undefined;
}

const VERSION = /^v?(\d+(?:\.\d+){0,3}[\w.+-]{0,60})$/;

/** White space around it included: longer ones are cut, and then are none. */
const MAX_VERSION_CHARS = 200;

const versionOf = (value: unknown): string | undefined =>
  typeof value === "string" ? VERSION.exec(value.slice(0, MAX_VERSION_CHARS).trim())?.[1] : undefined;

const licenceOf = (value: unknown): string | undefined => {
  const text = isRecord(value) ? (value["type"] ?? value["text"]) : value;
  return typeof text === "string" ? (spdxExpression(text) ?? licenceOfText(text)) : undefined;
};

const readJson = (text: string): ProjectFacts => {
  try {
    const manifest: unknown = JSON.parse(text);
    if (isRecord(manifest))
      return { licence: licenceOf(manifest["license"]), version: versionOf(manifest["version"]) };
  } catch {
    // A broken manifest says nothing.
  }
  return {};
};

const MAX_LINES = 2000;
const ASSIGNMENT = /^(version|license|licence)\s*=\s*(.{1,300})$/;
/** `"MIT"`, `{text = "MIT"}`, and the bare words of an INI file. */
const QUOTED = /["']([^"']{1,200})["']/;

/**
 * The version and the licence of TOML and INI manifests, by their lines: who wants to hide them from us may, and nobody can
 * make a parser of ours work for it.
 */
const readSections = (text: string, sections: readonly string[]): ProjectFacts => {
  let isOwn = false;
  const found: Record<string, string> = {};
  for (const line of text.split("\n", MAX_LINES)) {
    const trimmed = line.slice(0, 400).trim();
    const section = /^\[([\w.-]+)\]$/.exec(trimmed)?.[1];
    if (section !== undefined) isOwn = sections.includes(section);
    const [, key = "", value = ""] = isOwn ? (ASSIGNMENT.exec(trimmed) ?? []) : [];
    if (key !== "") found[key.replace("licence", "license")] ??= QUOTED.exec(value)?.[1] ?? value.trim();
  }
  return { licence: licenceOf(found["license"]), version: versionOf(found["version"]) };
};

const LICENCE_FILE = /^(?:un)?(?:licen[cs]e|copying)(?:[.-][\w.-]{1,30})?$/i;

const READERS: Readonly<Record<string, (text: string) => ProjectFacts>> = {
  "package.json": readJson,
  "composer.json": readJson,
  "pyproject.toml": (text) => readSections(text, ["project", "tool.poetry"]),
  "Cargo.toml": (text) => readSections(text, ["package", "workspace.package"]),
  "setup.cfg": (text) => readSections(text, ["metadata"]),
  VERSION: (text) => ({ version: versionOf(text.slice(0, 100)) }),
};

const isManifest = (name: string): boolean => Object.hasOwn(READERS, name);

/** Manifests first: a file that holds the text of a licence may hold others as well. */
export const factRank = (name: string): number => (isManifest(name) ? 0 : 1);

/** Whether a file of this name may say something about its project. */
export const isFactFile = (name: string): boolean => isManifest(name) || LICENCE_FILE.test(name);

export const readFactFile = (name: string, text: string): ProjectFacts =>
  isManifest(name) ? (READERS[name]?.(text) ?? {}) : { licence: licenceOfText(text) };
