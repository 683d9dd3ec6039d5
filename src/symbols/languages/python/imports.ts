import type { Handler, Walker } from "../../extract/walker.ts";
import { removeSpaces } from "../../rules/handlers.ts";
import { quoted } from "./types.ts";
import { parts } from "./use.ts";

export const importStatement: Handler = (walker, node) => {
  for (const part of walker.children(node)) {
    if (walker.type(part) === "aliased_import")
      walker.import(
        {
          source: removeSpaces(walker.text(walker.field(part, "name"))),
          name: "",
          local: walker.text(walker.field(part, "alias")),
        },
        part,
      );
    else if (walker.type(part) === "dotted_name") {
      const source = removeSpaces(walker.text(part));
      const head = source.split(".")[0] ?? "";
      // `import a.b` binds `a`, and loads `a.b` besides.
      walker.import({ source: head, name: "", local: head }, part);
      if (head !== source) walker.import({ source, name: "", local: "" }, part);
    }
  }
};

export const importFrom: Handler = (walker, node) => {
  const module = walker.field(node, "module_name");
  const source = removeSpaces(walker.text(module));
  for (const part of walker.children(node)) {
    if (part === module) continue;
    const type = walker.type(part);
    if (type === "wildcard_import") walker.import({ source, name: "*", local: "*" }, part);
    else if (type === "aliased_import") {
      const name = walker.text(walker.field(part, "name"));
      walker.import({ source, name, local: walker.text(walker.field(part, "alias")) }, part);
    } else if (type === "dotted_name")
      walker.import({ source, name: walker.text(part), local: walker.text(part) }, part);
  }
};

/** `__all__ = ["open_store"]` is a use: renaming the symbol changes that line too. */
export const listExported = (walker: Walker, left: number, right: number): void => {
  if (walker.text(left) !== "__all__" || walker.scopes.kind !== "file") return;
  for (const part of parts(walker, right))
    if (walker.type(part) === "string") walker.refer(quoted(walker, part), part, "read");
};
