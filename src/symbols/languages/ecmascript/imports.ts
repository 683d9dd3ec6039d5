import type { Handler, Walker } from "../../extract/walker.ts";

const unquote = (text: string): string => text.slice(1, -1);

export const importStatement: Handler = (walker, node) => {
  const required = walker.child(node, "import_require_clause");
  const source = unquote(walker.text(walker.field(required >= 0 ? required : node, "source")));
  if (required >= 0) {
    walker.import({ source, name: "", local: walker.text(walker.child(required, "identifier")) }, node);
    return;
  }
  const clause = walker.child(node, "import_clause");
  if (clause < 0) {
    walker.import({ source, name: "", local: "" }, node);
    return;
  }
  for (const part of walker.children(clause)) {
    const type = walker.type(part);
    if (type === "identifier") walker.import({ source, name: "default", local: walker.text(part) }, part);
    else if (type === "namespace_import")
      walker.import({ source, name: "", local: walker.text(walker.child(part, "identifier")) }, part);
    else if (type === "named_imports")
      for (const specifier of walker.children(part)) {
        if (walker.type(specifier) !== "import_specifier") continue;
        const name = walker.field(specifier, "name");
        const alias = walker.field(specifier, "alias");
        const imported = nameOf(walker, name);
        walker.import(
          { source, name: imported, local: alias < 0 ? imported : walker.text(alias) },
          specifier,
        );
      }
  }
};

/** `export { a as "odd name" }` is allowed. */
const nameOf = (walker: Walker, node: number): string =>
  walker.type(node) === "string" ? unquote(walker.text(node)) : walker.text(node);

/** `export … from`, `export { … }`, `export =`; what declares something is left to the declaration itself. */
export const exportClauses = (walker: Walker, node: number): void => {
  const from = walker.field(node, "source");
  const source = from < 0 ? "" : unquote(walker.text(from));
  const clause = walker.child(node, "export_clause");
  if (clause >= 0) {
    for (const specifier of walker.children(clause)) {
      if (walker.type(specifier) !== "export_specifier") continue;
      const name = walker.field(specifier, "name");
      const alias = walker.field(specifier, "alias");
      const given = nameOf(walker, name);
      walker.import(
        { source, name: given, local: alias < 0 ? given : nameOf(walker, alias), exported: true },
        specifier,
      );
      if (source === "") walker.refer(given, name, "import");
    }
    return;
  }
  if (from < 0) return;
  const namespace = walker.child(node, "namespace_export");
  if (namespace < 0) walker.import({ source, name: "*", local: "*", exported: true }, node);
  else
    walker.import(
      {
        source,
        name: "",
        local: nameOf(walker, walker.tree.firstChild[namespace] ?? -1),
        exported: true,
      },
      node,
    );
};
