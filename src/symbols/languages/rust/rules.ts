import type { Handler, Rules } from "../../extract/walker.ts";
import { block, pick, refersTo, skip, typeDefinition, visitOthers } from "../../rules/handlers.ts";
import { callOf, expressionOf, memberOf, use } from "../../rules/uses.ts";
import { modItem, useDeclaration } from "./imports.ts";
import { enumVariant, field, functionItem, implItem, item, traitBounds, traitItem } from "./items.ts";
import { isPublic, nodeTypes } from "./node-types.ts";
import { closureParameters, forExpression, letDeclaration, matchArm, parameterOf } from "./patterns.ts";

export const rules: Rules = {
  membersVisible: false,
  outerNames: false,
  expression: expressionOf(nodeTypes),
  handlers: new Map<string, Handler>([
    ["line_comment", skip],
    ["block_comment", skip],
    ["attribute_item", skip],
    ["inner_attribute_item", skip],
    ["lifetime", skip],
    ["use_declaration", useDeclaration],
    ["mod_item", modItem],
    ["struct_item", typeDefinition("class", "name", isPublic)],
    ["union_item", typeDefinition("class", "name", isPublic)],
    ["enum_item", typeDefinition("enum", "name", isPublic)],
    ["trait_item", traitItem],
    ["impl_item", implItem],
    ["function_item", functionItem],
    ["function_signature_item", functionItem],
    ["const_item", item("constant")],
    ["static_item", item("constant")],
    ["type_item", item("type")],
    ["associated_type", item("type")],
    ["macro_definition", item("macro")],
    ["field_declaration", field],
    ["enum_variant", enumVariant],
    ["trait_bounds", traitBounds],
    ["let_declaration", letDeclaration],
    ["let_condition", letDeclaration],
    ["parameter", parameterOf],
    ["self_parameter", skip],
    ["closure_parameters", closureParameters],
    [
      "closure_expression",
      (walker, node) => {
        walker.scopes.enter("function");
        walker.visitChildren(node);
        walker.scopes.leave();
      },
    ],
    ["for_expression", forExpression],
    ["match_arm", matchArm],
    ["block", block],
    ["if_expression", block],
    [
      "type_parameter",
      (walker, node) => {
        walker.scopes.bindLocal(walker.text(walker.field(node, "name")), "");
        walker.visitField(node, "bounds");
      },
    ],
    ["call_expression", callOf(nodeTypes)],
    [
      "struct_expression",
      (walker, node) => {
        use(nodeTypes, walker, walker.field(node, "name"), "call");
        walker.visitField(node, "body");
      },
    ],
    ["field_initializer", (walker, node) => walker.visitField(node, "value")],
    ["shorthand_field_initializer", (walker, node) => walker.visitChildren(node)],
    ["field_expression", memberOf(nodeTypes)],
    ["scoped_identifier", memberOf(nodeTypes)],
    ["scoped_type_identifier", memberOf(nodeTypes, "type")],
    [
      "macro_invocation",
      (walker, node) => {
        const macro = pick(walker, node, "macro");
        use(nodeTypes, walker, macro, "call");
        visitOthers(walker, node, macro);
      },
    ],
    ["identifier", refersTo("read")],
    [
      "type_identifier",
      (walker, node) => {
        if (walker.text(node) !== "Self") walker.refer(walker.text(node), node, "type");
      },
    ],
  ]),
};
