import type { Handler, Walker } from "../../extract/walker.ts";
import { firstOf } from "../../rules/handlers.ts";
import { isPublic } from "./node-types.ts";

/** `use a::{b, c::D as E, f::*}`: one entry for each name. */
const useTree = (walker: Walker, node: number, prefix: string, exported: boolean): void => {
  const join = (path: string): string =>
    (prefix === "" ? path : path === "" ? prefix : `${prefix}::${path}`).replace(/\s+/g, "");
  const add = (path: string, local: string | undefined): void => {
    const cut = path.lastIndexOf("::");
    const name = cut < 0 ? path : path.slice(cut + 2);
    const source = cut < 0 ? "" : path.slice(0, cut);
    if (name === "self") {
      const own = source.split("::").at(-1) ?? "";
      walker.import({ source, name: "", local: local ?? own, exported }, node);
    } else if (source === "") walker.import({ source: name, name: "", local: local ?? name, exported }, node);
    else walker.import({ source, name, local: local ?? name, exported }, node);
    if (exported) walker.scopes.bindImport(local ?? name);
  };
  switch (walker.type(node)) {
    case "scoped_use_list": {
      const path = join(walker.text(walker.field(node, "path")));
      for (const child of walker.children(walker.field(node, "list"))) useTree(walker, child, path, exported);
      return;
    }
    case "use_list":
      for (const child of walker.children(node)) useTree(walker, child, prefix, exported);
      return;
    case "use_as_clause":
      add(join(walker.text(walker.field(node, "path"))), walker.text(walker.field(node, "alias")));
      return;
    case "use_wildcard":
      walker.import(
        { source: join(walker.text(firstOf(walker, node))), name: "*", local: "*", exported },
        node,
      );
      return;
    default:
      add(join(walker.text(node)), undefined);
  }
};

export const useDeclaration: Handler = (walker, node) =>
  useTree(walker, walker.field(node, "argument"), "", isPublic(walker, "", node));

export const modItem: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const body = walker.field(node, "body");
  const text = walker.text(name);
  if (body < 0) {
    const exported = isPublic(walker, text, node);
    walker.import({ source: `self::${text}`, name: "", local: text, exported }, node);
    walker.scopes.bindImport(text);
    return;
  }
  const definition = walker.define(text, "module", name, node, { exported: isPublic(walker, text, node) });
  walker.scopes.enter("block", definition >= 0 ? definition : undefined);
  walker.visitChildren(body);
  walker.scopes.leave();
};
