import type { Handler, Rules } from "../extract/walker.ts";
import { generic, genericCall } from "../rules/generic.ts";
import { firstOf } from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";

const DEFINES = /^def(?:p|macro|macrop|guard|guardp|delegate|n|np|module|protocol|impl)?$/;

/** Definitions are calls: `def name(a, b) do`. */
const call: Handler = (walker, node) => {
  const macro = walker.text(walker.field(node, "target"));
  if (!DEFINES.test(macro)) {
    genericCall(walker, node);
    return;
  }
  const head = firstOf(walker, walker.child(node, "arguments"));
  // `f(x) when x > 1` and `f(x)` both name f.
  const clause = walker.field(head, "left") >= 0 ? walker.field(head, "left") : head;
  const named = walker.type(clause) === "call" ? walker.field(clause, "target") : clause;
  const isModule = /^def(?:module|protocol|impl)$/.test(macro);
  const definition = walker.define(
    walker.text(named).split(".").at(-1) ?? "",
    isModule ? "class" : walker.scopes.kind === "class" ? "method" : "function",
    named,
    node,
    { exported: !macro.endsWith("p") },
  );
  walker.scopes.enter(isModule ? "class" : "function", definition >= 0 ? definition : undefined);
  for (const child of walker.children(walker.child(node, "arguments")))
    if (child !== head) walker.visit(child);
  walker.visit(walker.child(node, "do_block"));
  walker.scopes.leave();
};

const rules: Rules = {
  ...generic,
  handlers: { get: (type) => (type === "call" ? call : generic.handlers.get(type)) },
};

export const elixir: SymbolLanguage = {
  ids: ["elixir"],
  rules,
  family: { name: "elixir", reach: "project" },
};
