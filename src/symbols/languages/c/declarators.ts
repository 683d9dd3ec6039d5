import type { Walker } from "../../extract/walker.ts";

/** The name inside of pointers, arrays, references and parameter lists: `*(name[3])(int)`. */
export const nameIn = (walker: Walker, node: number): number => {
  let at = node;
  for (let hops = 0; hops < 20 && at >= 0; hops++) {
    const type = walker.type(at);
    if (
      /^(?:identifier|field_identifier|type_identifier|qualified_identifier|destructor_name|operator_name)$/.test(
        type,
      )
    )
      return at;
    const inner = walker.field(at, "declarator");
    at =
      inner >= 0
        ? inner
        : walker.child(
            at,
            "identifier",
            "field_identifier",
            "pointer_declarator",
            "function_declarator",
            "reference_declarator",
            "array_declarator",
            "parenthesized_declarator",
            "qualified_identifier",
            "type_identifier",
          );
  }
  return -1;
};

export const functionIn = (walker: Walker, node: number): number => {
  let at = walker.field(node, "declarator");
  for (let hops = 0; hops < 20 && at >= 0; hops++) {
    if (walker.type(at) === "function_declarator") return at;
    const inner = walker.field(at, "declarator");
    at = inner >= 0 ? inner : walker.child(at, "function_declarator");
  }
  return -1;
};
