import type { Rules } from "../extract/walker.ts";
import { generic } from "../rules/generic.ts";
import { c } from "./c/rules.ts";
import { csharp } from "./csharp.ts";
import { ecmascript } from "./ecmascript/rules.ts";
import { go } from "./go.ts";
import { java } from "./java.ts";
import { kotlin } from "./kotlin.ts";
import { php } from "./php.ts";
import { python } from "./python/rules.ts";
import { ruby } from "./ruby.ts";
import { rust } from "./rust/rules.ts";
import { scala } from "./scala.ts";
import { swift } from "./swift.ts";

const RULES: ReadonlyMap<string, Rules> = new Map([
  ["typescript", ecmascript],
  ["tsx", ecmascript],
  ["javascript", ecmascript],
  ["jsx", ecmascript],
  ["python", python],
  ["java", java],
  ["go", go],
  ["rust", rust],
  ["kotlin", kotlin],
  ["ruby", ruby],
  ["scala", scala],
  ["swift", swift],
  ["csharp", csharp],
  ["c", c],
  ["cpp", c],
  ["cuda", c],
  ["arduino", c],
  ["php", php],
  ["starlark", python],
]);

/** Languages that define functions and types, but have no rules of their own. */
const OTHERS = new Set(
  (
    "ada bash clojure commonlisp d dart elisp elixir elm erlang fortran gdscript gleam glsl groovy haskell julia lua matlab nim " +
    "objc ocaml ocaml-interface perl powershell r racket rescript scheme solidity vim zig"
  ).split(" "),
);

/** How a language is read for symbols, by the id of `parse/languages.ts`. */
export const rulesOf = (language: string): Rules | undefined =>
  RULES.get(language) ?? (OTHERS.has(language) ? generic : undefined);
