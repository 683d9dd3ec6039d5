import { type Expression, FOREIGN, UNKNOWN } from "./expression.ts";
import type { Definition, FileSymbols, Import, Reference, ReferenceKind } from "./file-symbols.ts";
import type { Scopes } from "./scopes.ts";

/** A definition whose types may still name locals of the scope where they are written. */
export interface RawDefinition extends Omit<Definition, "type" | "exported" | "parameters"> {
  type: Expression;
  parameters: readonly Expression[] | undefined;
  exported: boolean;
  typeScope: number;
}

export interface RawReference {
  readonly name: string;
  readonly kind: ReferenceKind;
  readonly line: number;
  readonly via: Expression;
  readonly inside: number;
  readonly scope: number;
}

/** What a walk collects: names are resolved once the whole file has been seen. */
export interface RawSymbols {
  readonly scopes: Scopes;
  readonly definitions: RawDefinition[];
  readonly references: RawReference[];
  readonly imports: Import[];
  module: string;
}

const MAX_RECEIVER = 40;
/** References of one line that are compared: a minified file is one line. */
const MAX_COMPARED = 50;

const markExported = ({ definitions, imports }: RawSymbols): void => {
  const names = new Set(
    imports.flatMap(({ exported, source, name }) => (exported && source === "" ? [name] : [])),
  );
  for (const definition of definitions)
    if (definition.parent < 0 && names.has(definition.name)) definition.exported = true;
};

/** Undefined where it means a local, or something outside of the project. */
const finishReference = (
  { name, kind, line, via, inside, scope }: RawReference,
  scopes: Scopes,
  isClosed: boolean,
): Reference | undefined => {
  let target = -1;
  let resolved = "";
  if (via === "") {
    const meaning = scopes.meaning(name, scope);
    if (meaning === "local" || (meaning === "unbound" && isClosed)) return undefined;
    if (typeof meaning === "object") target = meaning.definition;
  } else {
    resolved = scopes.resolve(via, scope, isClosed);
    if (resolved === FOREIGN) return undefined;
  }
  const receiver = via.length > MAX_RECEIVER || via === UNKNOWN ? "" : via;
  return { name, kind, line, receiver, inside, target, via: resolved };
};

const isSame = (a: Reference, b: Reference): boolean =>
  a.name === b.name && a.kind === b.kind && a.via === b.via && a.inside === b.inside && a.target === b.target;

/** The same use twice on a line counts once. */
const finishReferences = ({ references, scopes }: RawSymbols, isClosed: boolean): readonly Reference[] => {
  const finished: Reference[] = [];
  let lineFrom = 0;
  for (const raw of references) {
    const reference = finishReference(raw, scopes, isClosed);
    if (reference === undefined) continue;
    if (finished[lineFrom]?.line !== reference.line) lineFrom = finished.length;
    const from = Math.max(lineFrom, finished.length - MAX_COMPARED);
    let isRepeated = false;
    for (let at = from; at < finished.length && !isRepeated; at++) {
      const other = finished[at];
      isRepeated = other !== undefined && isSame(other, reference);
    }
    if (!isRepeated) finished.push(reference);
  }
  return finished;
};

const finishDefinition = (
  { typeScope, parameters, ...definition }: RawDefinition,
  scopes: Scopes,
  isClosed: boolean,
): Definition => {
  const type = scopes.resolve(definition.type, typeScope, isClosed);
  const given = parameters?.map((parameter) => scopes.resolve(parameter, typeScope, isClosed));
  return {
    ...definition,
    parameters: given === undefined ? "" : `(${given.join(",")})`,
    type: type === UNKNOWN ? "" : type,
  };
};

/** @param hasOuterNames a plain name that the file does not explain may be of another file. */
export const finishSymbols = (raw: RawSymbols, hasOuterNames: boolean): FileSymbols => {
  markExported(raw);
  const { definitions, imports, module, scopes } = raw;
  const isClosed = !hasOuterNames && !imports.some(({ local }) => local === "*");
  return {
    definitions: definitions.map((definition) => finishDefinition(definition, scopes, isClosed)),
    references: finishReferences(raw, isClosed),
    imports,
    module,
  };
};
