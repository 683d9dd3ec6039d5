import { posix } from "node:path";
import { expandBraces, parseName, parsePath } from "./globs.ts";
import { insideRoots } from "./paths.ts";

/**
 * Whether the content of a real path is withheld. `bases` are the directories that relative globs may start from. A glob
 * that ends in a name is about files: a folder of that name is a folder like any other, and what lies in it is judged by
 * names of its own (`node_modules/js-tokens/package.json` is no secret). `secrets/` and `secrets/**` are about a folder, and
 * withhold it with everything in it.
 */
export type Denylist = (realPath: string, bases: readonly string[], isFolder?: boolean) => boolean;

// Word patterns (`*token*`) catch names by topic, and code and prose about a topic hold no secrets as a rule. Formats
// that do hold them (.sh .txt .json .yaml .toml .ini .env and whatever is not named here) stay withheld.
const SPARED_BY_NAME_PARTS = new Set(
  (
    ".ts .tsx .mts .cts .js .jsx .mjs .cjs .py .pyi .go .rs .java .kt .kts .groovy .c .h .cc .cpp .cxx .hh .hpp .m .mm " +
    ".cs .fs .vb .rb .php .swift .scala .clj .cljs .ex .exs .erl .hs .ml .mli .lua .pl .pm .r .jl .dart .zig .nim .sol " +
    ".proto .graphql .sql .html .css .scss .sass .less .vue .svelte .astro .md .mdx .rst .adoc .tex"
  ).split(" "),
);

// Templates of an .env file: committed on purpose, with the names of the settings and no values, and what a model needs
// to see to help with a setup. A glob that names one outright, or withholds a whole directory, still wins.
const ENV_TEMPLATES = new Set([".env.example", ".env.sample", ".env.template"]);

interface Rule {
  /** What its braces stand for, in small letters. */
  readonly globs: readonly string[];
  /** The glob is matched against the final name only, at any depth. */
  readonly byName: boolean;
  /** It means a folder and everything in it. */
  readonly whole: boolean;
  /** The last part is a name with wildcards, so what it catches may be an accident. */
  readonly loose: boolean;
  readonly word: boolean;
}

/** `secrets/` means everything in any directory of that name, as in ignore files. */
const spellOut = (glob: string): string => {
  const bare = glob.replace(/^\.\//, "");
  if (!bare.endsWith("/")) return bare;
  return /^[^/]+\/$/.test(bare) ? `**/${bare}**` : `${bare}**`;
};

/** A bracket that is not closed stands for itself. */
const expand = (glob: string): readonly string[] => {
  try {
    return expandBraces(glob.toLowerCase()).filter((one) => parsePath(one, glob));
  } catch {
    return [glob.toLowerCase().replace(/[[\]{}]/g, "\\$&")];
  }
};

const parseGlob = (written: string): Rule => {
  const glob = spellOut(written);
  const lastPart = glob.slice(glob.lastIndexOf("/") + 1);
  const byName = lastPart !== "**" && (glob === lastPart || glob === `**/${lastPart}`);
  return {
    globs: expand(byName ? lastPart : glob),
    byName,
    whole: lastPart === "**",
    loose: lastPart !== "**" && /[*?[{(]/.test(lastPart),
    word: /^\*\p{Letter}+\*$/u.test(lastPart),
  };
};

const anyOf = (globs: readonly string[]): ((path: string) => boolean) => {
  const matchers = globs.map((glob) => parsePath(glob, glob));
  return (path) => {
    const parts = path.toLowerCase().split("/");
    return matchers.some((matches) => matches(parts));
  };
};

const compileRules = (rules: readonly Rule[]): Denylist => {
  const globsOf = (byName: boolean): readonly string[] =>
    rules.filter((rule) => rule.byName === byName).flatMap(({ globs }) => globs);
  const names = globsOf(true).map((glob) => parseName(glob, glob));
  const matchesPath = anyOf(globsOf(false));
  // The others match a whole path where they match a part of it.
  const relative = globsOf(false).filter((glob) => !glob.startsWith("**/"));
  const matchesBelow = anyOf(relative);
  return (realPath, bases) => {
    const name = posix.basename(realPath).toLowerCase();
    return (
      names.some((matches) => matches(name)) ||
      matchesPath(realPath) ||
      (relative.length > 0 &&
        bases.some((base) => insideRoots(realPath, [base]) && matchesBelow(posix.relative(base, realPath))))
    );
  };
};

/** Compiles once; matching ignores case and includes dotfiles. */
export const compileDenylist = (globs: readonly string[]): Denylist => {
  const rules = globs.filter((glob) => glob !== "").map(parseGlob);
  const whole = compileRules(rules.filter((rule) => rule.whole));
  const strict = compileRules(rules.filter((rule) => !rule.loose));
  const loose = compileRules(rules.filter((rule) => rule.loose && !rule.word));
  const matchesNamePart = compileRules(rules.filter((rule) => rule.word));
  return (realPath, bases, isFolder = false) => {
    if (isFolder) return whole(realPath, bases);
    if (strict(realPath, bases)) return true;
    const name = posix.basename(realPath).toLowerCase();
    if (ENV_TEMPLATES.has(name)) return false;
    return (
      loose(realPath, bases) ||
      (!SPARED_BY_NAME_PARTS.has(posix.extname(name)) && matchesNamePart(realPath, bases))
    );
  };
};

/**
 * Globs of the folders that lie above what globs match: of `.cargo/config`, that is `.cargo`. A link of such a name
 * brings along what it leads to, under names that were never in the folders that are looked through. A glob whose
 * folder part matches any name yields no such folder.
 */
export const leadingFolders = (globs: readonly string[]): readonly string[] => {
  const folders = globs.flatMap((glob) => {
    const parts = spellOut(glob).split("/");
    return parts.slice(1).map((_, at) => parts.slice(0, at + 1));
  });
  const named = folders.filter((parts) => parts.some((part) => !/^\**$/.test(part)));
  return [...new Set(named.map((parts) => parts.join("/")))];
};
