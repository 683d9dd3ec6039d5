import type { Walker } from "../../extract/walker.ts";

/** By convention, a function that is called with `new`. */
const CONSTRUCTOR = /^[A-Z]/;

/** What `this` means in code inside of a definition: a class, a constructor function, or what a method is assigned to. */
const thisAround = (walker: Walker): number => {
  for (let at = walker.scopes.definition; at >= 0; at = walker.parentOf(at)) {
    const kind = walker.kindOf(at);
    if (kind === "class" || (kind === "function" && CONSTRUCTOR.test(walker.nameOf(at)))) return at;
    if (kind === "method" && walker.kindOf(walker.parentOf(at)) === "function") return walker.parentOf(at);
  }
  return -1;
};

/** The definition that an assignment to a property of this expression adds to; -1 where it is not known. */
export const ownerOf = (walker: Walker, node: number): number => {
  switch (walker.type(node)) {
    case "this":
      return thisAround(walker);
    case "identifier": {
      const meaning = walker.scopes.meaning(walker.text(node), walker.scopes.current);
      return typeof meaning === "object" ? meaning.definition : -1;
    }
    case "member_expression":
      return walker.text(walker.field(node, "property")) === "prototype"
        ? ownerOf(walker, walker.field(node, "object"))
        : -1;
    default:
      return -1;
  }
};
