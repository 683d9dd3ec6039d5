import type { Handler, Walker } from "../../extract/walker.ts";
import { bindName, visitOthers } from "../../rules/handlers.ts";
import { writtenType } from "../../rules/written-type.ts";
import { functionIn, nameIn } from "./declarators.ts";

const isStatic = (walker: Walker, node: number): boolean =>
  /\bstatic\b/.test(walker.text(walker.child(node, "storage_class_specifier")));

/** `D S::run(…)`, `int helper(…)`, `virtual D run(…) = 0;` */
const defineFunction = (walker: Walker, node: number, declarator: number): number => {
  const name = nameIn(walker, declarator);
  const { scopes } = walker;
  const type = walker.text(walker.field(node, "type"));
  const inClass = scopes.kind === "class";
  const path = walker.text(name).split("::");
  const text = (path.at(-1) ?? "").replace(/<.*$/s, "").trim();
  const owner = path.length > 1 ? (path.at(-2) ?? "").replace(/<.*$/s, "").trim() : "";
  const around = walker.kindOf(scopes.definition);
  return walker.define(text, inClass || owner !== "" ? "method" : "function", name, node, {
    exported: inClass ? true : !isStatic(walker, node) || around === "class",
    type: writtenType(type),
    ...(owner === "" ? {} : { attachedTo: owner, scope: -1 }),
  });
};

export const functionDefinition: Handler = (walker, node) => {
  const declarator = functionIn(walker, node);
  if (declarator < 0) {
    walker.visitChildren(node);
    return;
  }
  const definition = defineFunction(walker, node, declarator);
  walker.visitField(node, "type");
  walker.scopes.enter("function", definition >= 0 ? definition : undefined);
  walker.visitField(declarator, "parameters");
  for (const child of walker.children(node)) {
    const field = walker.tree.fieldName(child);
    if (field !== "declarator" && field !== "type") walker.visit(child);
  }
  walker.scopes.leave();
};

/** Variables, fields and prototypes. */
export const declaration: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  walker.visit(type);
  for (const child of walker.children(node)) {
    if (walker.tree.fieldName(child) !== "declarator") continue;
    const holder = walker.type(child) === "init_declarator" ? walker.field(child, "declarator") : child;
    const value = walker.field(child, "value");
    const isPrototype =
      walker.type(holder) === "function_declarator" ||
      (walker.type(holder) === "pointer_declarator" &&
        walker.type(walker.field(holder, "declarator")) === "function_declarator");
    if (
      isPrototype &&
      walker.scopes.kindOf(walker.scopes.nearest("function", "class", "file")) !== "function"
    ) {
      const definition = defineFunction(walker, node, holder);
      walker.scopes.enter("function", definition >= 0 ? definition : undefined);
      walker.visitField(functionIn(walker, node), "parameters");
      walker.scopes.leave();
      continue;
    }
    const name = nameIn(walker, holder);
    const written = walker.text(type);
    const known = /^auto\b/.test(written) && value >= 0 ? walker.expression(value) : writtenType(written);
    if (name >= 0) bindName(walker, name, known, node);
    walker.visit(value);
  }
};

export const specifier =
  (kind: "class" | "enum"): Handler =>
  (walker, node) => {
    const name = walker.field(node, "name");
    const body = walker.field(node, "body");
    if (body < 0) {
      if (name >= 0) walker.refer(walker.text(name), name, "type");
      return;
    }
    // `typedef struct { … } Name;`
    const above = walker.tree.parent[node] ?? -1;
    const given =
      name >= 0
        ? name
        : walker.type(above) === "type_definition"
          ? nameIn(walker, walker.field(above, "declarator"))
          : -1;
    const definition = walker.define(walker.text(given), kind, given, node, { exported: true });
    walker.scopes.enter("class", definition >= 0 ? definition : undefined);
    visitOthers(walker, node, name);
    walker.scopes.leave();
  };

export const typeDefinition: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  walker.visit(type);
  const name = nameIn(walker, walker.field(node, "declarator"));
  if (
    /_specifier$/.test(walker.type(type)) &&
    walker.field(type, "body") >= 0 &&
    walker.field(type, "name") < 0
  )
    return;
  if (walker.text(name) !== walker.text(walker.field(type, "name")))
    walker.define(walker.text(name), "type", name, node, {
      exported: true,
      type: writtenType(walker.text(walker.field(type, "name")) || walker.text(type)),
    });
};

export const parameterOf: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  walker.visit(type);
  const name = nameIn(walker, walker.field(node, "declarator"));
  if (name >= 0) walker.scopes.bindLocal(walker.text(name), writtenType(walker.text(type)));
  walker.visitField(node, "default_value");
};

export const macro: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  walker.define(walker.text(name), "macro", name, node, { exported: true });
};

export const enumerator: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  walker.define(walker.text(name), "constant", name, node, { exported: true, parent: -1, scope: 0 });
  walker.visitField(node, "value");
};

export const aliasDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const type = walker.field(node, "type");
  walker.define(walker.text(name), "type", name, node, {
    exported: true,
    type: writtenType(walker.text(type)),
  });
  walker.visit(type);
};

export const forRangeLoop: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const right = walker.field(node, "right");
  const written = walker.text(walker.field(node, "type"));
  const name = nameIn(walker, walker.field(node, "declarator"));
  walker.visit(right);
  const element = walker.expression(right);
  walker.scopes.bindLocal(
    walker.text(name),
    /auto/.test(written) ? `${element === "?" ? "" : `${element}[]`}` : writtenType(written),
  );
  walker.visitField(node, "body");
  walker.scopes.leave();
};
