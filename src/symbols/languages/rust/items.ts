import type { Handler, Walker } from "../../extract/walker.ts";
import { typeDefinition, visitOthers } from "../../rules/handlers.ts";
import { writtenType } from "../../rules/written-type.ts";
import { isPublic } from "./node-types.ts";

export const functionItem: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const text = walker.text(name);
  const owner = owners.get(walker)?.at(-1) ?? "";
  const inType = scopes.kind === "class";
  const result = walker.field(node, "return_type");
  const definition = walker.define(text, inType ? "method" : "function", name, node, {
    exported: inType || isPublic(walker, text, node),
    type: result < 0 ? "" : writtenType(walker.text(result)),
    ...(inType && owner !== "" ? { attachedTo: owner, scope: -1 } : {}),
  });
  scopes.enter("function", definition >= 0 ? definition : undefined);
  visitOthers(walker, node, name);
  scopes.leave();
};

/** Types of the enclosing `impl` blocks, outermost first. */
const owners = new WeakMap<Walker, string[]>();

export const implItem: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  const trait = walker.field(node, "trait");
  const owner = /(\w+)\s*(?:<.*)?$/s.exec(walker.text(type))?.[1] ?? "";
  const open = owners.get(walker) ?? [];
  owners.set(walker, open);
  walker.scopes.enter("class");
  walker.visitField(node, "type_parameters");
  if (trait >= 0) walker.refer(lastName(walker.text(trait)), trait, "type");
  walker.visit(type);
  open.push(owner);
  walker.visitField(node, "body");
  open.pop();
  walker.scopes.leave();
};

const lastName = (path: string): string => /(\w+)\s*(?:<.*)?$/s.exec(path)?.[1] ?? "";

export const traitItem: Handler = (walker, node) => {
  const open = owners.get(walker) ?? [];
  owners.set(walker, open);
  open.push("");
  typeDefinition("interface", "name", isPublic)(walker, node);
  open.pop();
};

export const field: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const type = walker.field(node, "type");
  if (walker.scopes.kind === "class")
    walker.define(walker.text(name), "field", name, node, {
      exported: true,
      scope: -1,
      type: writtenType(walker.text(type)),
    });
  walker.visit(type);
};

export const item =
  (kind: "constant" | "type" | "macro"): Handler =>
  (walker, node) => {
    const name = walker.field(node, "name");
    const type = walker.field(node, "type");
    const definition = walker.define(walker.text(name), kind, name, node, {
      exported: kind === "macro" || isPublic(walker, "", node),
      type: type < 0 ? "" : writtenType(walker.text(type)),
    });
    walker.scopes.enter("block", definition >= 0 ? definition : undefined);
    walker.visit(type);
    walker.visitField(node, "value");
    walker.scopes.leave();
  };

export const enumVariant: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  walker.define(walker.text(name), "constant", name, node, { exported: true, scope: -1, type: "this" });
  walker.scopes.enter("block");
  walker.visitField(node, "body");
  walker.scopes.leave();
};

export const traitBounds: Handler = (walker, node) => {
  const inTrait = walker.type(walker.tree.parent[node] ?? -1) === "trait_item";
  for (const child of walker.children(node)) {
    if (inTrait && walker.type(child) === "type_identifier")
      walker.refer(walker.text(child), child, "inherit");
    else walker.visit(child);
  }
};
