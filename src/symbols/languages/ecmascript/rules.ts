import { step } from "../../extract/expression.ts";
import type { Handler, Rules } from "../../extract/walker.ts";
import { block, firstOf, skip } from "../../rules/handlers.ts";
import { assignment } from "./assignment.ts";
import { classBody } from "./class-body.ts";
import {
  classDeclaration,
  enumDeclaration,
  functionDeclaration,
  interfaceDeclaration,
  namespace,
  typeAlias,
  variableDeclaration,
} from "./declarations.ts";
import { exportStatement } from "./exports.ts";
import { ecmascriptExpression } from "./expressions.ts";
import { functionBody, returnStatement } from "./functions.ts";
import { importStatement } from "./imports.ts";
import { comment } from "./jsdoc.ts";
import { knownCall } from "./known-calls.ts";
import { enumBody, fieldOf, method } from "./members.ts";
import { bindPattern } from "./patterns.ts";
import { objectLiteral } from "./properties.ts";
import { typeOf } from "./types.ts";
import { call, decorator, heritage, jsxName, nestedType, use, uses } from "./use.ts";

const callFunction = call("function");

const anonymousFunction: Handler = (walker, node) => functionBody(walker, node, -1);

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

/** Members of an interface or of a named object type are symbols; those of an anonymous type are not. */
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

export const rules: Rules = {
  membersVisible: false,
  outerNames: false,
  expression: ecmascriptExpression,
  handlers: new Map<string, Handler>([
    ["comment", comment],
    ["string", skip],
    ["statement_identifier", skip],
    ["identifier", uses("read")],
    ["shorthand_property_identifier", uses("read")],
    ["member_expression", uses("read")],
    ["type_identifier", (walker, node) => walker.refer(walker.text(node), node, "type")],
    ["nested_type_identifier", (walker, node) => nestedType(walker, node, "type")],
    [
      "call_expression",
      (walker, node) => {
        if (!knownCall(walker, node)) callFunction(walker, node);
      },
    ],
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
