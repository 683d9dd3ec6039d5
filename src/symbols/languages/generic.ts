import { generic } from "../rules/generic.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";

const IDS =
  "ada bash clojure commonlisp d dart elisp elm erlang fortran gdscript gleam glsl haskell julia matlab nim " +
  "ocaml ocaml-interface perl powershell r racket rescript scheme solidity vim";

/** Languages whose functions and types are found by common rules, unless a description of their own replaces these. */
export const genericLanguages: readonly SymbolLanguage[] = IDS.split(" ").map((id) => ({
  ids: [id],
  rules: generic,
  family: { name: id, reach: "project" },
}));
