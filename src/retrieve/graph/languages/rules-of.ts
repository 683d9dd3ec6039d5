import type { Rules } from "../walker.ts";
import { c } from "./c.ts";
import { csharp } from "./csharp.ts";
import { ecmascript } from "./ecmascript.ts";
import { go } from "./go.ts";
import { java } from "./java.ts";
import { php } from "./php.ts";
import { python } from "./python.ts";
import { rust } from "./rust.ts";

const RULES: ReadonlyMap<string, Rules> = new Map([
  ["typescript", ecmascript],
  ["tsx", ecmascript],
  ["javascript", ecmascript],
  ["jsx", ecmascript],
  ["python", python],
  ["java", java],
  ["go", go],
  ["rust", rust],
  ["csharp", csharp],
  ["c", c],
  ["cpp", c],
  ["cuda", c],
  ["arduino", c],
  ["php", php],
  ["starlark", python],
]);

/** How a language is read for symbols, by the id of `parse/languages.ts`. */
export const rulesOf = (language: string): Rules | undefined => RULES.get(language);
