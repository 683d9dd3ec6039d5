import type { Grammar } from "../../syntax/language-table.ts";

/**
 * How to find the name of a node where it is neither the `name` field nor the first identifier. `field:x` is the name of a
 * field; `names.ts` explains the others.
 */
export type NameRule =
  | "default"
  | "declarator"
  | "function-declarator"
  | "infix"
  | "bodied"
  | "assigned"
  | "impl"
  | "first-line"
  | "labels"
  | "lisp"
  | "selector"
  | `field:${string}`;

export interface OutlineRow {
  /** Types of nodes that are definitions; `scopes` are those that contain further definitions. */
  readonly defines?: string;
  readonly scopes?: string;
  /** Definitions only at the top level, such as variables. */
  readonly top?: string;
  /** Nodes that are not definitions but contain some: wrappers and bodies. */
  readonly through?: string;
  readonly names?: Readonly<Record<string, NameRule>>;
  /** Nodes that belong to what follows them, besides comments. */
  readonly leading?: string;
  /** The start of a comment, where the grammar attaches a comment to the node before the one it describes. */
  readonly strayComment?: string;
  /** Deeper definitions are ignored. */
  readonly maxDepth?: number;
}

const C: OutlineRow = {
  defines:
    "function_definition preproc_def preproc_function_def struct_specifier union_specifier enum_specifier type_definition",
  top: "declaration",
  through:
    "preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification declaration_list",
  names: {
    function_definition: "declarator",
    type_definition: "declarator",
    declaration: "declarator",
  },
};
const CPP: OutlineRow = {
  ...C,
  scopes: "class_specifier struct_specifier union_specifier",
  defines:
    "function_definition preproc_def preproc_function_def enum_specifier type_definition alias_declaration concept_definition field_declaration",
  through: `${C.through ?? ""} namespace_definition template_declaration field_declaration_list`,
  names: { ...C.names, field_declaration: "function-declarator" },
};
const lisp = (list: "list" | "list_lit", ...more: readonly "defun"[]): OutlineRow => ({
  defines: [list, ...more].join(" "),
  names: { list: "lisp", list_lit: "lisp", defun: "lisp" },
});
const OCAML: OutlineRow = {
  scopes: "module_binding class_binding module_type_definition",
  defines:
    "let_binding type_binding exception_definition external value_specification method_definition method_specification",
  through:
    "value_definition module_definition type_definition class_definition structure signature object_expression class_type_definition",
  names: { let_binding: "field:pattern" },
};
const HCL: OutlineRow = { defines: "block", through: "body", names: { block: "labels" } };

const DECORATED: OutlineRow = { leading: "decorator" };

/**
 * By grammar. Where a row names no definitions, chunks are named by the symbols of the file; the rows that do are of
 * languages whose symbols are found by common rules only, or leave out what names a chunk (`impl`, properties, the parts of
 * a template).
 */
export const OUTLINE_TABLE: Readonly<Partial<Record<Grammar, OutlineRow>>> = {
  typescript: DECORATED,
  tsx: DECORATED,
  javascript: DECORATED,
  elixir: { leading: "unary_operator" },
  rust: {
    scopes: "impl_item trait_item mod_item",
    defines:
      "function_item function_signature_item struct_item enum_item union_item const_item static_item type_item macro_definition associated_type",
    through: "declaration_list foreign_mod_item",
    names: { impl_item: "impl", mod_item: "bodied" },
    leading: "attribute_item inner_attribute_item",
  },
  c: C,
  cpp: CPP,
  cuda: CPP,
  arduino: CPP,
  glsl: C,
  objc: {
    ...C,
    scopes: "class_interface class_implementation protocol_declaration",
    defines: `${C.defines ?? ""} method_declaration method_definition`,
    through: `${C.through ?? ""} implementation_definition`,
  },
  c_sharp: {
    scopes: "class_declaration interface_declaration struct_declaration record_declaration enum_declaration",
    defines:
      "method_declaration constructor_declaration property_declaration delegate_declaration local_function_statement event_declaration",
    through:
      "namespace_declaration file_scoped_namespace_declaration declaration_list global_statement preproc_if preproc_else",
  },
  scala: {
    scopes: "class_definition object_definition trait_definition enum_definition package_object",
    defines: "function_definition function_declaration type_definition given_definition",
    top: "val_definition var_definition",
    through: "template_body enum_body extension_definition package_clause",
    names: { val_definition: "field:pattern", var_definition: "field:pattern" },
  },
  haskell: {
    scopes: "class",
    defines:
      "function bind data_type newtype type_synomym type_family data_family signature foreign_import pattern_synonym",
    through: "declarations class_declarations",
    names: { function: "infix" },
    leading: "signature haddock pragma",
    strayComment: "--",
  },
  zig: {
    scopes: "variable_declaration",
    defines: "function_declaration test_declaration",
    through: "struct_declaration enum_declaration union_declaration opaque_declaration",
  },
  bash: {
    defines: "function_definition",
    top: "variable_assignment",
    through: "declaration_command if_statement",
  },
  sql: {
    defines:
      "create_table create_view create_materialized_view create_index create_function create_trigger create_type create_schema create_sequence create_database create_role create_extension",
    through: "statement block transaction",
  },
  css: {
    defines: "rule_set keyframes_statement",
    through: "media_statement supports_statement block at_rule",
    names: { rule_set: "selector" },
  },
  dart: {
    scopes: "class_definition mixin_declaration extension_declaration enum_declaration",
    defines: "function_signature getter_signature setter_signature constructor_signature type_alias",
    through: "class_body extension_body enum_body method_signature declaration",
  },
  perl: {
    scopes: "package_statement",
    defines: "subroutine_declaration_statement method_declaration_statement class_statement",
    through: "block block_statement",
  },
  julia: {
    scopes: "module_definition",
    defines:
      "function_definition macro_definition struct_definition abstract_definition primitive_definition assignment",
    through: "block const_statement",
    names: { assignment: "first-line" },
  },
  r: { top: "binary_operator", names: { binary_operator: "assigned" } },
  ocaml: OCAML,
  ocaml_interface: OCAML,
  rescript: {
    scopes: "module_binding",
    defines: "let_binding type_binding",
    through: "let_declaration module_declaration type_declaration block",
    names: { let_binding: "field:pattern" },
  },
  proto: {
    scopes: "message service",
    defines: "enum rpc",
    through: "message_body extend",
  },
  graphql: {
    defines:
      "object_type_definition input_object_type_definition enum_type_definition interface_type_definition union_type_definition scalar_type_definition directive_definition operation_definition fragment_definition object_type_extension",
    through:
      "document definition type_system_definition type_definition executable_definition type_system_extension type_extension",
  },
  hcl: HCL,
  terraform: HCL,
  erlang: {
    defines: "fun_decl record_decl pp_define type_alias opaque",
    names: { pp_define: "field:lhs" },
  },
  clojure: lisp("list_lit"),
  commonlisp: lisp("list_lit", "defun"),
  scheme: lisp("list"),
  racket: lisp("list"),
  elisp: { defines: "function_definition macro_definition special_form" },
  groovy: {
    scopes: "class_definition",
    defines: "function_definition function_declaration",
    through: "closure",
    names: { function_definition: "field:function", function_declaration: "field:function" },
  },
  powershell: {
    scopes: "class_statement",
    defines: "function_statement class_method_definition enum_statement",
    through: "statement_list",
  },
  solidity: {
    scopes: "contract_declaration interface_declaration library_declaration",
    defines:
      "function_definition event_definition modifier_definition struct_declaration enum_declaration error_declaration",
    through: "contract_body",
  },
  make: { defines: "rule define_directive", top: "variable_assignment", names: { rule: "first-line" } },
  cmake: { defines: "function_def macro_def", names: { function_def: "lisp", macro_def: "lisp" } },
  gdscript: {
    scopes: "class_definition",
    defines: "function_definition signal_statement enum_definition class_name_statement",
    top: "variable_statement const_statement",
    through: "class_body",
  },
  elm: {
    defines: "type_declaration type_alias_declaration value_declaration port_annotation",
    leading: "type_annotation",
  },
  gleam: { defines: "function type_definition type_alias constant" },
  d: {
    scopes:
      "class_declaration struct_declaration interface_declaration union_declaration template_declaration",
    defines: "function_declaration enum_declaration alias_declaration",
    through: "module_def aggregate_body",
  },
  vim: { defines: "function_definition command_statement" },
  prisma: { defines: "model_declaration enum_declaration type_declaration view_declaration" },
  matlab: { scopes: "class_definition", defines: "function_definition", through: "methods" },
  dockerfile: { defines: "from_instruction", names: { from_instruction: "field:as" } },
  json: { scopes: "pair", through: "object document", names: { pair: "field:key" }, maxDepth: 2 },
};
