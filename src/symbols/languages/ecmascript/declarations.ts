import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { classBody } from "./class-body.ts";
import { functionBody, isFunction, parameterTypes } from "./functions.ts";
import { writtenType } from "./jsdoc.ts";
import { bindPattern } from "./patterns.ts";
import { defineIfHolder, hasFunctions } from "./properties.ts";
import { importRequired } from "./require.ts";
import { typeOf } from "./types.ts";

/** At the top of a file or namespace, where variables are symbols. */
const isTop = (walker: Walker): boolean =>
  walker.scopes.kindOf(walker.scopes.nearest("function", "class", "file")) === "file";

const isExported = (walker: Walker, node: number): boolean => {
  let above = walker.tree.parent[node] ?? -1;
  if (walker.type(above) === "ambient_declaration") above = walker.tree.parent[above] ?? -1;
  return walker.type(above) === "export_statement";
};

const whole = (walker: Walker, node: number): number =>
  isExported(walker, node) ? (walker.tree.parent[node] ?? node) : node;

export const functionDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const definition = walker.define(walker.text(name), "function", name, whole(walker, node), {
    exported: isExported(walker, node),
  });
  functionBody(walker, node, definition);
};

export const classDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const definition = walker.define(walker.text(name), "class", name, whole(walker, node), {
    exported: isExported(walker, node),
  });
  classBody(walker, node, definition);
};

export const interfaceDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const definition = walker.define(walker.text(name), "interface", name, whole(walker, node), {
    exported: isExported(walker, node),
  });
  classBody(walker, node, definition);
};

export const typeAlias: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const value = walker.field(node, "value");
  const isFunctionType = walker.type(value) === "function_type";
  const definition = walker.define(walker.text(name), "type", name, whole(walker, node), {
    exported: isExported(walker, node),
    type: typeOf(walker, isFunctionType ? walker.field(value, "return_type") : value),
  });
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  walker.visitField(node, "type_parameters");
  if (isFunctionType) walker.setParameters(definition, parameterTypes(walker, value));
  walker.visit(value);
  walker.scopes.leave();
};

export const enumDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const definition = walker.define(walker.text(name), "enum", name, whole(walker, node), {
    exported: isExported(walker, node),
  });
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  walker.visitField(node, "body");
  walker.scopes.leave();
};

export const namespace: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const isNamed = walker.type(name) !== "string" && name >= 0;
  const definition = isNamed
    ? walker.define(walker.text(name).split(".")[0] ?? "", "module", name, whole(walker, node), {
        exported: isExported(walker, node),
      })
    : -1;
  walker.scopes.enter("block", definition >= 0 ? definition : undefined);
  walker.visitField(node, "body");
  walker.scopes.leave();
};

const definePattern = (walker: Walker, node: number, value: Expression, exported: boolean): void => {
  for (const part of walker.children(node)) {
    const isPair = walker.type(part) === "pair_pattern";
    const key = isPair ? walker.field(part, "key") : part;
    const target = isPair ? walker.field(part, "value") : part;
    if (!/^(?:shorthand_property_identifier_pattern|identifier)$/.test(walker.type(target))) {
      bindPattern(walker, target, UNKNOWN, walker.scopes.current);
      continue;
    }
    const name = walker.text(key);
    if (value !== UNKNOWN) walker.refer(name, key, "read", value);
    walker.define(walker.text(target), "constant", target, part, { exported, type: step(value, `.${name}`) });
  }
};

export const variableDeclaration: Handler = (walker, node) => {
  const isVar = walker.type(node) === "variable_declaration";
  const isConst = /^const\b/.test(
    walker.tree.text.slice(walker.tree.start[node], (walker.tree.start[node] ?? 0) + 6),
  );
  const { scopes } = walker;
  const top = isTop(walker);
  const scope = isVar ? scopes.nearest("function", "file") : scopes.current;
  const exported = isExported(walker, node);
  for (const declarator of walker.children(node)) {
    if (walker.type(declarator) !== "variable_declarator") continue;
    const name = walker.field(declarator, "name");
    const value = walker.field(declarator, "value");
    const annotation = walker.field(declarator, "type");
    if (importRequired(walker, name, value)) continue;
    const written = annotation >= 0 ? typeOf(walker, annotation) : writtenType(walker, declarator);
    const isWritten = annotation >= 0 || written !== UNKNOWN;
    const type = isWritten ? written : value >= 0 ? walker.expression(value) : UNKNOWN;
    walker.visit(annotation);
    const isName = walker.type(name) === "identifier";
    if (isName && isFunction(walker, value)) {
      const definition = walker.define(walker.text(name), "function", name, whole(walker, node), {
        exported,
        scope,
      });
      functionBody(walker, value, definition);
      continue;
    }
    if (isName && walker.type(value) === "class") {
      const definition = walker.define(walker.text(name), "class", name, whole(walker, node), {
        exported,
        scope,
      });
      classBody(walker, value, definition);
      continue;
    }
    if (isName && (top || hasFunctions(walker, value))) {
      const definition = walker.define(
        walker.text(name),
        isConst ? "constant" : "variable",
        name,
        whole(walker, node),
        {
          exported,
          scope,
          type: type === UNKNOWN ? "" : type,
        },
      );
      scopes.enter("block", definition >= 0 ? definition : undefined);
      walker.visit(value);
      scopes.leave();
      continue;
    }
    if (top && walker.type(name) === "object_pattern") definePattern(walker, name, type, exported);
    else bindPattern(walker, name, type, scope);
    walker.visit(value);
    if (isName && annotation < 0) defineIfHolder(walker, name, value, scope);
  }
};
