import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import {
  API,
  type Symbol as CompilerSymbol,
  SymbolFlags,
  type Project as TypeScriptProject,
} from "typescript/unstable/sync";
import type { OracleAnswer, OracleLocation, OracleUse, Project } from "./oracle.ts";

const BATCH = 2000;

const TSCONFIG = {
  compilerOptions: {
    target: "esnext",
    module: "esnext",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    jsx: "preserve",
    types: [],
    lib: ["esnext", "dom"],
  },
};

const NAMED_DEFINITIONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.ClassDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.EnumDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.MethodSignature,
]);

export const isFunction = (node: Node | undefined): boolean =>
  node !== undefined &&
  (node.kind === SyntaxKind.ArrowFunction ||
    node.kind === SyntaxKind.FunctionExpression ||
    node.kind === SyntaxKind.ClassExpression);

export const nameOf = (node: Node): Node | undefined => (node as { name?: Node }).name;
export const initializerOf = (node: Node): Node | undefined => (node as { initializer?: Node }).initializer;

/** What the benchmark counts: functions, methods, classes and types; not variables, fields and parameters. */
export const isCounted = (node: Node): boolean => {
  if (node.kind === SyntaxKind.MethodDeclaration && node.parent.kind === SyntaxKind.ObjectLiteralExpression)
    return false;
  if (NAMED_DEFINITIONS.has(node.kind)) return true;
  return node.kind === SyntaxKind.VariableDeclaration && isFunction(initializerOf(node));
};

const isCalled = (node: Node): boolean => {
  const above = node.parent;
  const holder = above.kind === SyntaxKind.PropertyAccessExpression && nameOf(above) === node ? above : node;
  const call = holder.parent as (Node & { expression?: Node }) | undefined;
  if (call === undefined) return false;
  return (
    (call.kind === SyntaxKind.CallExpression || call.kind === SyntaxKind.NewExpression) &&
    call.expression === holder
  );
};

/** The outermost function, or the member of a class, that holds a node. */
const callerOf = ({ isCaller }: Dialect, node: Node): Node | undefined => {
  let found: Node | undefined;
  for (let at: Node | undefined = node.parent; at !== undefined; at = at.parent) {
    const isNamed = nameOf(at) !== undefined || at.kind === SyntaxKind.Constructor;
    const isMember = at.parent?.kind === SyntaxKind.ClassDeclaration && isNamed;
    if (isCaller(at) || isMember) found = at;
    if (isMember) return found;
  }
  return found;
};

const identifiersOf = (file: SourceFile): readonly Node[] => {
  const found: Node[] = [];
  const visit = (node: Node): void => {
    // What a comment of JavaScript declares has names without a position.
    if (node.kind === SyntaxKind.Identifier && node.pos >= 0) found.push(node);
    node.forEachChild((child) => {
      visit(child);
    });
  };
  visit(file);
  return found;
};

const lineIn = (file: SourceFile, cache: Map<string, readonly number[]>): ((position: number) => number) => {
  let starts = cache.get(file.fileName);
  if (starts === undefined) {
    const list = [0];
    for (let at = file.text.indexOf("\n"); at >= 0; at = file.text.indexOf("\n", at + 1)) list.push(at + 1);
    starts = list;
    cache.set(file.fileName, starts);
  }
  const lines = starts;
  return (position) => {
    let low = 0;
    let high = lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((lines[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
};

export const meant = (
  { checker }: TypeScriptProject,
  node: Node,
  symbol: CompilerSymbol | undefined,
): CompilerSymbol | undefined => {
  let found = symbol;
  if (node.parent.kind === SyntaxKind.ShorthandPropertyAssignment)
    found = checker.getShorthandAssignmentValueSymbol(node.parent) ?? found;
  if (found !== undefined && (found.flags & SymbolFlags.Alias) !== 0) found = checker.getAliasedSymbol(found);
  return found;
};

/** What differs between TypeScript and plain JavaScript. */
export interface Dialect {
  readonly config: object;
  /** The name of a definition. */
  nameOf(node: Node): Node | undefined;
  isCounted(node: Node): boolean;
  isCaller(node: Node): boolean;
  meant(
    project: TypeScriptProject,
    node: Node,
    symbol: CompilerSymbol | undefined,
  ): CompilerSymbol | undefined;
  /** Much of a program is unknown to the compiler, and answers on that are neither right nor wrong. */
  readonly isPartial: boolean;
  /** Whether a definition is counted even though nothing refers to it. */
  countsUnused(node: Node): boolean;
}

const TYPESCRIPT: Dialect = {
  config: TSCONFIG,
  nameOf,
  isCounted,
  isCaller: (node) =>
    node.kind === SyntaxKind.FunctionDeclaration ||
    (node.kind === SyntaxKind.VariableDeclaration && isFunction(initializerOf(node))),
  meant,
  isPartial: false,
  countsUnused: () => true,
};

/** Every identifier of the project, and what the TypeScript compiler says it means. */
export const typescriptOracle = (
  project: Project,
  configFile: string | undefined,
  dialect = TYPESCRIPT,
): OracleAnswer => {
  const config = configFile ?? join(project.folder, "tsconfig.json");
  if (configFile === undefined)
    writeFileSync(config, JSON.stringify({ ...dialect.config, files: project.paths }));
  const api = new API({ cwd: project.folder });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [config] });
    const [opened] = snapshot.getProjects();
    if (opened === undefined) throw new Error(`The TypeScript compiler did not open ${config}.`);
    return answer(project, opened, dialect);
  } finally {
    api.close();
  }
};

/** The definition that an identifier names. */
const definedBy = ({ nameOf: nameIn, isCounted: counts }: Dialect, node: Node): Node | undefined => {
  for (const above of [node.parent, node.parent.parent])
    if (above !== undefined && counts(above) && nameIn(above) === node) return above;
  return undefined;
};

const answer = (project: Project, opened: TypeScriptProject, dialect: Dialect): OracleAnswer => {
  const { program, checker } = opened;
  const lines = new Map<string, readonly number[]>();
  const own = new Map(project.paths.map((path) => [join(project.folder, path).toLowerCase(), path]));
  const pathOf = (name: string): string | undefined =>
    own.get(name.toLowerCase()) ??
    own.get(join(project.folder, relative(project.folder, name)).toLowerCase());
  const definitions: OracleLocation[] = [];
  const uses: OracleUse[] = [];
  const unknown = new Set<string>();
  const locationOf = (node: Node): OracleLocation | undefined => {
    const file = node.getSourceFile();
    const path = pathOf(file.fileName);
    if (path !== undefined && node.kind === SyntaxKind.Constructor)
      return { path, line: lineIn(file, lines)(node.getStart(file)), name: "constructor" };
    const name = dialect.nameOf(node);
    if (path === undefined || name === undefined) return undefined;
    return { path, line: lineIn(file, lines)(name.getStart(file)), name: name.getText(file) };
  };
  const targets = new Map<number, readonly OracleLocation[]>();
  const targetsOf = (symbol: CompilerSymbol): readonly OracleLocation[] => {
    const known = targets.get(symbol.id);
    if (known !== undefined) return known;
    const found = symbol.declarations.flatMap((handle) => {
      if (pathOf(handle.path) === undefined) return [];
      const node = handle.resolve(opened);
      const location = node === undefined || !dialect.isCounted(node) ? undefined : locationOf(node);
      return location === undefined ? [] : [location];
    });
    targets.set(symbol.id, found);
    return found;
  };
  for (const path of project.paths) {
    const name = join(project.folder, path);
    const file = program.getSourceFile(name);
    if (file === undefined) continue;
    const nodes = identifiersOf(file);
    const line = lineIn(file, lines);
    for (let from = 0; from < nodes.length; from += BATCH) {
      const batch = nodes.slice(from, from + BATCH);
      const symbols = checker.getSymbolAtPosition(
        name,
        batch.map((node) => node.getStart(file)),
      );
      for (const [index, node] of batch.entries()) {
        const defined = definedBy(dialect, node);
        if (defined !== undefined) {
          const location = locationOf(defined);
          if (location !== undefined && dialect.countsUnused(defined)) definitions.push(location);
          continue;
        }
        const symbol = dialect.meant(opened, node, symbols[index]);
        if (symbol === undefined || symbol.declarations.length === 0)
          unknown.add(`${path}:${line(node.getStart(file))}:${node.getText(file)}`);
        const [target] = symbol === undefined ? [] : targetsOf(symbol);
        if (target === undefined) continue;
        const around = isCalled(node) ? callerOf(dialect, node) : undefined;
        uses.push({
          path,
          line: line(node.getStart(file)),
          target,
          name: node.getText(file),
          caller: around === undefined ? undefined : locationOf(around),
        });
      }
    }
  }
  const all = [...definitions, ...uses.map(({ target }) => target)];
  const distinct = new Map(
    all.map((location) => [`${location.path}:${location.line}:${location.name}`, location]),
  );
  return { definitions: [...distinct.values()], uses, ...(dialect.isPartial ? { unknown } : {}) };
};
