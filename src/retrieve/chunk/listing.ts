import { baseName } from "../../base/paths.ts";
import type { Language } from "../../syntax/languages.ts";
import { toLines } from "./lines.ts";
import type { Cut } from "./to-chunks.ts";

/** `package-lock.json`, `Cargo.lock`, `packages.lock.json`, `pnpm-lock.yaml`, `.terraform.lock.hcl` … */
const LOCK_FILE = /[.-]lock(?:\.(?:json|ya?ml|hcl))?$|^(?:npm-shrinkwrap\.json|go\.sum|gradle\.lockfile)$/i;

/** A shorter one may be a list that somebody keeps by hand: requirements, names of contributors. */
const MIN_LIST_LINES = 500;
/** Dictionaries and vocabularies have a few lines that are blank or a remark. */
const SINGLE_TERM_SHARE = 0.99;

/** Lines of the file that are shown where it is asked for by its name. */
const SHOWN_LINES = 40;

const isWordList = (text: string): boolean => {
  const lines = text.split("\n");
  return (
    lines.length >= MIN_LIST_LINES &&
    lines.filter((line) => !/\S\s+\S/.test(line)).length >= SINGLE_TERM_SHARE * lines.length
  );
};

/** Why a file answers no question, although it has the words of many: it only lists them. */
export const listingOf = (path: string, text: string, { id }: Language): string | undefined => {
  if (LOCK_FILE.test(baseName(path))) return "a lock file: found by its name only";
  return id === "text" && isWordList(text) ? "a list of words: found by its name only" : undefined;
};

/** One chunk without text, which has no terms: only the name of its file leads to it. */
export const cutListing = (text: string, { kind }: Language): Cut => {
  const endLine = Math.min(SHOWN_LINES, toLines(text).count);
  const chunks = endLine === 0 ? [] : [{ startLine: 1, endLine, kind, name: "", defines: [], text: "" }];
  return { chunks, partial: true };
};
