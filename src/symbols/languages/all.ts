import type { Rules } from "../extract/walker.ts";
import type { Family } from "../project/family.ts";
import { nameOf } from "../project/paths.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { c, objc } from "./c/language.ts";
import { csharp } from "./csharp.ts";
import { components, ecmascript } from "./ecmascript/language.ts";
import { elixir } from "./elixir.ts";
import { genericLanguages } from "./generic.ts";
import { go } from "./go/language.ts";
import { groovy } from "./groovy.ts";
import { java } from "./java.ts";
import { kotlin } from "./kotlin.ts";
import { lua } from "./lua/language.ts";
import { php } from "./php.ts";
import { python, starlark } from "./python/language.ts";
import { ruby } from "./ruby.ts";
import { rust } from "./rust/language.ts";
import { scala } from "./scala.ts";
import { swift } from "./swift.ts";
import { zig } from "./zig.ts";

const LANGUAGES: readonly SymbolLanguage[] = [
  c,
  components,
  csharp,
  ecmascript,
  elixir,
  go,
  groovy,
  java,
  kotlin,
  lua,
  objc,
  php,
  python,
  ruby,
  rust,
  scala,
  starlark,
  swift,
  zig,
];

/** What is described here replaces the common rules. */
const all = [...genericLanguages, ...LANGUAGES];
const byId = new Map(all.flatMap((language) => language.ids.map((id) => [id, language])));
const families = new Map(all.flatMap(({ ids, family }) => ids.map((id) => [id, family])));

/** The languages with a description of their own: an index that was made with fewer of them is made again. */
export const DESCRIBED_LANGUAGES = LANGUAGES.flatMap(({ ids }) => ids).join(" ");

/** How symbols of a language are extracted; undefined where it has none. */
export const rulesOf = (id: string): Rules | undefined => byId.get(id)?.rules;

/** A language without a description is a family by itself. */
export const familyOf = (id: string): Family => {
  const known = families.get(id) ?? { name: id, reach: "project" };
  families.set(id, known);
  return known;
};

const configFiles = [...new Set(families.values())].flatMap(({ configFiles: names }) => names ?? []);

/** Whether a file configures where some language finds its modules. */
export const isConfigFile = (path: string): boolean =>
  configFiles.some((pattern) => pattern.test(nameOf(path)));
