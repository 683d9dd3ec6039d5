import { fileURLToPath } from "node:url";
import { type Node, SyntaxKind } from "typescript/unstable/ast";
import {
  type Checker,
  type Symbol as CompilerSymbol,
  SignatureKind,
  type Type,
  type Project as TypeScriptProject,
} from "typescript/unstable/sync";
import type { OracleAnswer, Project } from "./oracle.ts";
import {
  type Dialect,
  initializerOf,
  isCounted,
  isFunction,
  meant,
  nameOf,
  typescriptOracle,
} from "./typescript-oracle.ts";

const CONFIG = {
  compilerOptions: {
    target: "esnext",
    module: "node20",
    moduleResolution: "node16",
    allowJs: true,
    checkJs: true,
    noEmit: true,
    strict: false,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [fileURLToPath(new URL("../../node_modules/@types", import.meta.url))],
    lib: ["esnext"],
  },
};

interface Assignment extends Node {
  readonly left: Node;
  readonly right: Node;
}

const isAssignment = (node: Node): node is Assignment =>
  node.kind === SyntaxKind.BinaryExpression &&
  (node as unknown as { operatorToken: Node }).operatorToken.kind === SyntaxKind.EqualsToken &&
  (node as Assignment).left.kind === SyntaxKind.PropertyAccessExpression;

/** `Symbol("name")`, by which JavaScript names what other languages keep private. */
const isSymbol = (node: Node | undefined): boolean =>
  node?.kind === SyntaxKind.CallExpression && /^Symbol(?:\.for)?\(/.test(node.getText());

const isMember = ({ kind }: Node): boolean =>
  kind === SyntaxKind.PropertyAssignment ||
  kind === SyntaxKind.MethodDeclaration ||
  kind === SyntaxKind.PropertyDeclaration;

const holdsFunction = (node: Node): boolean =>
  isAssignment(node) ? isFunction(node.right) : isFunction(initializerOf(node));

/** What a property or a name holds is what whoever uses the property means: `module.exports = { open: openStore }`. */
const heldBy = (
  { checker }: TypeScriptProject,
  declaration: Node | undefined,
): CompilerSymbol | undefined => {
  if (declaration === undefined) return undefined;
  if (declaration.kind === SyntaxKind.ShorthandPropertyAssignment)
    return checker.getShorthandAssignmentValueSymbol(declaration);
  if (declaration.kind === SyntaxKind.BindingElement) {
    const type = checker.getTypeAtLocation(declaration);
    const held = type === undefined || isInstance(checker, type) ? undefined : type.getSymbol();
    return held === undefined || held.declarations.length === 0 ? undefined : held;
  }
  const value = heldValue(declaration);
  if (value?.kind === SyntaxKind.Identifier) return checker.getSymbolAtLocation(value);
  if (value?.kind === SyntaxKind.PropertyAccessExpression)
    return checker.getSymbolAtLocation(nameOf(value) ?? value);
  return value?.kind === SyntaxKind.CallExpression && value.getText().startsWith("require(")
    ? checker.getTypeAtLocation(value)?.getSymbol()
    : undefined;
};

/** `const { open } = store` takes a function out of an object; the type of a value without a call is no name for it. */
const isInstance = (checker: Checker, type: Type): boolean =>
  checker.getSignaturesOfType(type, SignatureKind.Call).length === 0;

const heldValue = (declaration: Node): Node | undefined => {
  if (isAssignment(declaration)) return declaration.right;
  return declaration.kind === SyntaxKind.PropertyAssignment ? initializerOf(declaration) : undefined;
};

/** `listen: null`, which is set later, or `listen: server.listen` of an unknown server: it may hold anything. */
const holdsUnknown = (declaration: Node | undefined): boolean => {
  const value = declaration === undefined ? undefined : heldValue(declaration);
  return (
    value?.kind === SyntaxKind.PropertyAccessExpression || /^(?:null|undefined)$/.test(value?.getText() ?? "")
  );
};

const MAX_HOPS = 6;

/** @param cache what each symbol holds: the compiler is another process. */
const javascript = (cache: Map<number, CompilerSymbol>): Dialect => ({
  config: CONFIG,
  isPartial: true,
  nameOf: (node) => {
    if (!isAssignment(node)) return nameOf(node);
    // `module.exports = function build () {}`
    const ofValue = node.left.getText() === "module.exports" ? nameOf(node.right) : undefined;
    return ofValue ?? nameOf(node.left);
  },
  isCounted: (node) =>
    isCounted(node) ||
    node.kind === SyntaxKind.MethodDeclaration ||
    ((isMember(node) || isAssignment(node) || node.kind === SyntaxKind.VariableDeclaration) &&
      (holdsFunction(node) || isSymbol(initializerOf(node)))),
  isCaller: (node) =>
    node.kind === SyntaxKind.FunctionDeclaration ||
    ((isMember(node) || isAssignment(node) || node.kind === SyntaxKind.VariableDeclaration) &&
      (node.kind === SyntaxKind.MethodDeclaration || holdsFunction(node))),
  // Handlers in option objects are definitions only to whoever names them.
  countsUnused: (node) => node.parent.kind !== SyntaxKind.ObjectLiteralExpression,
  meant: (project, node, symbol) => {
    let found = meant(project, node, symbol);
    const first = found?.id ?? -1;
    const known = cache.get(first);
    if (known !== undefined) return known;
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const [handle] = found?.declarations ?? [];
      const declaration = handle?.resolve(project);
      const held = heldBy(project, declaration);
      if (held === undefined && holdsUnknown(declaration)) return undefined;
      if (held === undefined) break;
      found = meant(project, node, held) ?? held;
    }
    if (found !== undefined) cache.set(first, found);
    return found;
  },
});

/** The same question to the compiler about plain JavaScript, as it infers it without any annotation. */
export const javascriptOracle = (project: Project): OracleAnswer =>
  typescriptOracle(project, undefined, javascript(new Map()));
