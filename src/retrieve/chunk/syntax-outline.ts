import type { Language } from "web-tree-sitter";
import type { Grammar } from "../../syntax/language-table.ts";
import type { SyntaxNode, SyntaxTree } from "../../syntax/syntax-tree.ts";
import { ERROR_TYPE } from "../../syntax/tree-layout.ts";
import { nameOf, nameParts } from "./names.ts";
import type { OutlineEntry } from "./outline.ts";
import { type NameRule, OUTLINE_TABLE } from "./outline-table.ts";

interface Rule {
  readonly defines: boolean;
  readonly scope: boolean;
  readonly topOnly: boolean;
  readonly name: NameRule;
}

export interface OutlineRules {
  readonly rules: ReadonlyMap<number, Rule>;
  readonly leading: ReadonlySet<number>;
  readonly maxDepth: number;
  readonly strayComment: string | undefined;
}

/** Definitions nest a few levels; deeper nesting is hostile input. */
const MAX_DEPTH = 24;
/** A file with more is generated; the first ones are enough to describe it. */
const MAX_ENTRIES = 20_000;

const compiled = new WeakMap<Language, OutlineRules>();

const splitList = (list: string | undefined): string[] => (list ?? "").split(" ").filter(Boolean);

/** The table's row with the type ids of the grammar: comparing ids needs no strings from WASM memory. */
export const outlineRules = (grammar: Grammar, language: Language): OutlineRules => {
  const known = compiled.get(language);
  if (known !== undefined) return known;
  const row = OUTLINE_TABLE[grammar] ?? {};
  const rules = new Map<number, Rule>();
  const leading = new Set<number>();
  const idsOf = Map.groupBy(language.types.keys(), (id) => language.types[id] ?? "");
  const add = (list: string | undefined, rule: Omit<Rule, "name">): void => {
    for (const type of splitList(list)) {
      const rest = { ...rule, name: row.names?.[type] ?? "default" };
      for (const id of idsOf.get(type) ?? []) if (language.nodeTypeIsNamed(id)) rules.set(id, rest);
    }
  };
  add(row.through, { defines: false, scope: true, topOnly: false });
  add(row.top, { defines: true, scope: false, topOnly: true });
  add(row.defines, { defines: true, scope: false, topOnly: false });
  add(row.scopes, { defines: true, scope: true, topOnly: false });
  // The content of an error node may be intact: a macro around a whole file makes all of it one error.
  if (rules.size > 0) rules.set(ERROR_TYPE, { defines: false, scope: true, topOnly: false, name: "default" });
  const lead = new Set(splitList(row.leading));
  language.types.forEach((name, id) => {
    if (lead.has(name) || /comment/.test(name)) leading.add(id);
  });
  const made = { rules, leading, maxDepth: row.maxDepth ?? MAX_DEPTH, strayComment: row.strayComment };
  compiled.set(language, made);
  return made;
};

/** The last row with text of a node: a node that ends with a line end does not reach into the next row. */
export const lastRow = ({ startRow, endRow, endColumn }: SyntaxNode): number =>
  endColumn === 0 && endRow > startRow ? endRow - 1 : endRow;

/** The definitions of a file that can be named from outside of functions, in the order of the file. */
export const syntaxOutline = (tree: SyntaxTree, { rules, maxDepth }: OutlineRules): OutlineEntry[] => {
  const entries: OutlineEntry[] = [];
  if (rules.size === 0) return entries;

  const visit = (parent: SyntaxNode, scope: readonly string[], depth: number, level: number): void => {
    if (level > MAX_DEPTH || depth > maxDepth || entries.length >= MAX_ENTRIES) return;
    for (const node of tree.childrenOf(parent)) {
      const rule = rules.get(node.typeId);
      if (rule === undefined || (rule.topOnly && depth > 0)) continue;
      if (!rule.defines) {
        visit(node, scope, depth, level + 1);
        continue;
      }
      const found = nameOf(tree, node, rule.name);
      const parts = found === undefined ? [] : nameParts(found.text);
      const name = parts.at(-1);
      if (found === undefined || name === undefined) {
        if (rule.scope) visit(node, scope, depth, level + 1);
        continue;
      }
      const qualified = [...scope, ...parts];
      entries.push({
        name,
        qualified: qualified.join("."),
        depth,
        nameRow: found.row,
        startRow: node.startRow,
        endRow: lastRow(node),
      });
      if (rule.scope) visit(node, qualified, depth + 1, level + 1);
    }
  };

  visit(tree.root, [], 0, 0);
  return entries;
};
