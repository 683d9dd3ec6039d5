import type { ReferenceKind } from "../../contract.ts";
import { step } from "../expression.ts";
import type { Handler, Rules, Walker } from "../walker.ts";
import {
  classBody,
  classDeclaration,
  enumDeclaration,
  functionDeclaration,
  interfaceDeclaration,
  namespace,
  typeAlias,
  variableDeclaration,
} from "./ecmascript-declarations.ts";
import { ecmascriptExpression } from "./ecmascript-expression.ts";
import { functionBody, isFunction, returnStatement } from "./ecmascript-functions.ts";
import { enumBody, fieldOf, method, objectLiteral } from "./ecmascript-members.ts";
import { exportClauses, importStatement } from "./ecmascript-modules.ts";
import { bindPattern } from "./ecmascript-patterns.ts";
import { typeOf } from "./ecmascript-types.ts";

const firstOf = (walker: Walker, node: number): number => walker.tree.firstChild[node] ?? -1;

/** A use of what an expression names; parts that name nothing are only walked through. */
const use = (walker: Walker, node: number, kind: ReferenceKind): void => {
  switch (walker.type(node)) {
    case "identifier":
    case "shorthand_property_identifier":
      walker.refer(walker.text(node), node, kind);
      return;
    case "member_expression": {
      const object = walker.field(node, "object");
      const property = walker.field(node, "property");
      walker.visit(object);
      walker.refer(walker.text(property), property, kind, walker.expression(object));
      return;
    }
    case "parenthesized_expression":
    case "non_null_expression":
      use(walker, firstOf(walker, node), kind);
      return;
    default:
      walker.visit(node);
  }
};

const uses =
  (kind: ReferenceKind): Handler =>
  (walker, node) =>
    use(walker, node, kind);

const call =
  (field: string): Handler =>
  (walker, node) => {
    use(walker, walker.field(node, field), "call");
    walker.visitField(node, "type_arguments");
    walker.visitField(node, "arguments");
  };

const block: Handler = (walker, node) => {
  walker.scopes.enter("block");
  walker.visitChildren(node);
  walker.scopes.leave();
};

const anonymousFunction: Handler = (walker, node) => functionBody(walker, node, -1);

const heritage: Handler = (walker, node) => {
  for (const child of walker.children(node)) {
    const type = walker.type(child);
    if (type === "identifier" || type === "member_expression") use(walker, child, "inherit");
    else if (type === "type_identifier" || type === "generic_type" || type === "nested_type_identifier")
      inherit(walker, child);
    else walker.visit(child);
  }
};

const inherit = (walker: Walker, node: number): void => {
  if (walker.type(node) === "generic_type") {
    inherit(walker, walker.field(node, "name"));
    walker.visit(walker.child(node, "type_arguments"));
  } else if (walker.type(node) === "nested_type_identifier") nestedType(walker, node, "inherit");
  else walker.refer(walker.text(node), node, "inherit");
};

const nestedType = (walker: Walker, node: number, kind: ReferenceKind): void => {
  const module = walker.field(node, "module");
  const name = walker.field(node, "name");
  use(walker, module, "read");
  walker.refer(walker.text(name), name, kind, walker.text(module).replace(/\s+/g, ""));
};

const assignment: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  const name = walker.text(left);
  const prototype = /^([\w$]+)\.prototype\.([\w$]+)$/.exec(name);
  const exported = /^(?:module\.)?exports\.([\w$]+)$/.exec(name);
  if (name === "module.exports") {
    exportAll(walker, right);
  } else if (exported !== null && isFunction(walker, right)) {
    const definition = walker.define(exported[1] ?? "", "function", left, node, { exported: true });
    functionBody(walker, right, definition);
    return;
  } else if (exported !== null && walker.type(right) === "identifier")
    walker.import({ source: "", name: walker.text(right), local: exported[1] ?? "", exported: true }, node);
  else if (prototype !== null && isFunction(walker, right)) {
    const owner = walker.scopes.meaning(prototype[1] ?? "", walker.scopes.current);
    if (typeof owner === "object") {
      const definition = walker.define(prototype[2] ?? "", "method", left, node, {
        parent: owner.definition,
        scope: -1,
        exported: true,
      });
      functionBody(walker, right, definition);
      return;
    }
  } else if (name.startsWith("this.")) defineField(walker, left, node, right);
  use(walker, left, "write");
  if (walker.type(left).endsWith("_pattern"))
    bindPattern(walker, left, walker.expression(right), walker.scopes.current);
  walker.visit(right);
};

/** JavaScript declares no fields: the first assignment to `this.name` does. */
const defineField = (walker: Walker, left: number, node: number, value: number): void => {
  const name = walker.text(walker.field(left, "property"));
  const { scopes } = walker;
  let owner = scopes.definition;
  while (owner >= 0 && walker.kindOf(owner) !== "class") owner = walker.parentOf(owner);
  if (owner < 0 || walker.type(walker.field(left, "object")) !== "this" || name === "") return;
  if (walker.member(owner, name) < 0)
    walker.define(name, "field", left, node, {
      parent: owner,
      scope: -1,
      exported: !name.startsWith("#"),
      type: walker.expression(value),
    });
  else walker.setType(walker.member(owner, name), walker.expression(value));
};

const exportAll = (walker: Walker, value: number): void => {
  if (walker.type(value) === "identifier") {
    walker.import({ source: "", name: walker.text(value), local: "export=", exported: true }, value);
    return;
  }
  if (walker.type(value) !== "object") return;
  for (const part of walker.children(value)) {
    const isPair = walker.type(part) === "pair";
    const local = walker.text(isPair ? walker.field(part, "key") : part);
    const name = walker.text(isPair ? walker.field(part, "value") : part);
    if (/^[\w$]+$/.test(name)) walker.import({ source: "", name, local, exported: true }, part);
  }
};

const exportStatement: Handler = (walker, node) => {
  const isDefault = /^export\s+default\b/.test(walker.text(node).slice(0, 40));
  const declaration = walker.field(node, "declaration");
  const value = walker.field(node, "value");
  for (const child of walker.children(node)) if (walker.type(child) === "decorator") walker.visit(child);
  if (isDefault) {
    const name = walker.text(walker.field(declaration >= 0 ? declaration : value, "name"));
    const identifier = walker.type(value) === "identifier" ? walker.text(value) : name;
    if (identifier !== "")
      walker.import({ source: "", name: identifier, local: "default", exported: true }, node);
    else if (value >= 0) {
      const definition = walker.define(
        "default",
        isFunction(walker, value) ? "function" : "constant",
        node,
        node,
        {
          exported: true,
          scope: -1,
          type: walker.expression(value),
        },
      );
      walker.scopes.enter("block", definition);
      if (isFunction(walker, value)) functionBody(walker, value, definition);
      else walker.visit(value);
      walker.scopes.leave();
      return;
    }
    walker.visit(declaration >= 0 ? declaration : value);
    return;
  }
  exportClauses(walker, node);
  walker.visit(declaration);
};

const forIn: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  walker.visit(right);
  bindPattern(walker, left, step(walker.expression(right), "[]"), walker.scopes.current);
  walker.visitField(node, "body");
  walker.scopes.leave();
};

const catchClause: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const parameter = walker.field(node, "parameter");
  if (parameter >= 0) bindPattern(walker, parameter, "", walker.scopes.current);
  walker.visitField(node, "body");
  walker.scopes.leave();
};

const typeParameter: Handler = (walker, node) => {
  const constraint = walker.field(node, "constraint");
  const type = constraint < 0 ? "" : typeOf(walker, firstOf(walker, constraint));
  walker.scopes.bindLocal(walker.text(walker.field(node, "name")), type);
  walker.visit(constraint);
  walker.visitField(node, "value");
};

const jsxName: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  // Small letters are elements of the page.
  if (walker.type(name) !== "identifier" || /^[A-Z_$]/.test(walker.text(name))) use(walker, name, "call");
  for (const child of walker.children(node)) if (child !== name) walker.visit(child);
};

const functionType: Handler = (walker, node) => {
  walker.scopes.enter("function");
  functionTypeParts(walker, node);
  walker.scopes.leave();
};
const functionTypeParts: Handler = (walker, node) => walker.visitChildren(node);

const parameterOfType: Handler = (walker, node) => {
  walker.visitField(node, "type");
  walker.visitField(node, "value");
};

const decorator: Handler = (walker, node) => {
  const inner = firstOf(walker, node);
  if (walker.type(inner) !== "call_expression") {
    use(walker, inner, "decorate");
    return;
  }
  use(walker, walker.field(inner, "function"), "decorate");
  walker.visitField(inner, "arguments");
};

/** Members of an interface or of a named object type are symbols; those of a type written in passing are not. */
function memberOfType(define: Handler): Handler {
  return (walker, node) => {
    const body = walker.tree.parent[node] ?? -1;
    const owner = walker.type(walker.tree.parent[body] ?? -1);
    if (
      /^(?:interface_declaration|type_alias_declaration|intersection_type)$/.test(owner) &&
      walker.scopes.kind === "class"
    )
      define(walker, node);
    else functionType(walker, node);
  };
}

const skip: Handler = () => undefined;

export const ecmascript: Rules = {
  membersVisible: false,
  outerNames: false,
  expression: ecmascriptExpression,
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["string", skip],
    ["statement_identifier", skip],
    ["identifier", uses("read")],
    ["shorthand_property_identifier", uses("read")],
    ["member_expression", uses("read")],
    ["type_identifier", (walker, node) => walker.refer(walker.text(node), node, "type")],
    ["nested_type_identifier", (walker, node) => nestedType(walker, node, "type")],
    ["call_expression", call("function")],
    ["new_expression", call("constructor")],
    ["jsx_opening_element", jsxName],
    ["jsx_self_closing_element", jsxName],
    ["jsx_closing_element", skip],
    ["decorator", decorator],
    ["assignment_expression", assignment],
    [
      "augmented_assignment_expression",
      (walker, node) => {
        use(walker, walker.field(node, "left"), "write");
        walker.visitField(node, "right");
      },
    ],
    ["update_expression", (walker, node) => use(walker, walker.field(node, "argument"), "write")],
    ["import_statement", importStatement],
    ["export_statement", exportStatement],
    ["lexical_declaration", variableDeclaration],
    ["variable_declaration", variableDeclaration],
    ["function_declaration", functionDeclaration],
    ["generator_function_declaration", functionDeclaration],
    ["function_signature", functionDeclaration],
    ["arrow_function", anonymousFunction],
    ["function_expression", anonymousFunction],
    ["generator_function", anonymousFunction],
    ["return_statement", returnStatement],
    ["class_declaration", classDeclaration],
    ["abstract_class_declaration", classDeclaration],
    ["class", (walker, node) => classBody(walker, node, -1)],
    ["extends_clause", heritage],
    ["class_heritage", heritage],
    ["implements_clause", heritage],
    ["extends_type_clause", heritage],
    ["interface_declaration", interfaceDeclaration],
    ["type_alias_declaration", typeAlias],
    ["enum_declaration", enumDeclaration],
    ["enum_body", enumBody],
    ["internal_module", namespace],
    ["module", namespace],
    ["method_definition", method],
    ["method_signature", memberOfType(method)],
    ["abstract_method_signature", method],
    ["public_field_definition", fieldOf("name")],
    ["field_definition", fieldOf("property")],
    ["property_signature", memberOfType(fieldOf("name"))],
    ["object", objectLiteral],
    ["statement_block", block],
    ["for_statement", block],
    ["switch_body", block],
    ["for_in_statement", forIn],
    ["catch_clause", catchClause],
    ["type_parameter", typeParameter],
    ["function_type", functionType],
    ["constructor_type", functionType],
    ["call_signature", functionType],
    ["construct_signature", functionType],
    ["required_parameter", parameterOfType],
    ["optional_parameter", parameterOfType],
    ["type_predicate", (walker, node) => walker.visitField(node, "type")],
    [
      "index_signature",
      (walker, node) => {
        walker.visitField(node, "index_type");
        walker.visitField(node, "type");
      },
    ],
    [
      "mapped_type_clause",
      (walker, node) => {
        walker.scopes.bindLocal(walker.text(walker.field(node, "name")), "");
        walker.visitField(node, "type");
      },
    ],
    [
      "infer_type",
      (walker, node) => {
        walker.scopes.bindLocal(walker.text(firstOf(walker, node)), "");
      },
    ],
  ]),
};
