import type { Definition } from "../extract/file-symbols.ts";
import type { FileRecord, ProjectFiles } from "./family.ts";
import { INHERIT, STRIDE } from "./references.ts";

/** How the definitions of one file are nested. Built once per version of a file. */
export interface Shape {
  /** Definitions at the top, by name. */
  readonly top: ReadonlyMap<string, readonly number[]>;
  /** Members by the index of their parent, then by name. */
  readonly members: ReadonlyMap<number, ReadonlyMap<string, readonly number[]>>;
  /** For each definition, the offsets in `references` of what it inherits from. */
  readonly bases: ReadonlyMap<number, readonly number[]>;
}

const shapes = new WeakMap<FileRecord, Shape>();

const push = <K>(map: Map<K, number[]>, key: K, value: number): void => {
  const found = map.get(key);
  if (found === undefined) map.set(key, [value]);
  else found.push(value);
};

const build = ({ definitions, references }: FileRecord): Shape => {
  const top = new Map<string, number[]>();
  const members = new Map<number, Map<string, number[]>>();
  const bases = new Map<number, number[]>();
  for (const [index, { name, qualified, parent }] of definitions.entries()) {
    if (parent < 0) {
      if (qualified === name) push(top, name, index);
      continue;
    }
    let names = members.get(parent);
    if (names === undefined) {
      names = new Map();
      members.set(parent, names);
    }
    push(names, name, index);
  }
  for (let at = 0; at < references.length; at += STRIDE)
    if (((references[at + 4] ?? 0) & 7) === INHERIT) push(bases, references[at + 3] ?? -1, at);
  return { top, members, bases };
};

export const shapeOf = (file: FileRecord): Shape => {
  const known = shapes.get(file);
  if (known !== undefined) return known;
  const shape = build(file);
  shapes.set(file, shape);
  return shape;
};

const TYPES = new Set(["class", "interface", "enum", "type"]);

export const isType = (definition: Definition | undefined): boolean =>
  definition !== undefined && TYPES.has(definition.kind);

/** `Store` for a definition `Store.Open` outside of it; empty for others. */
export const attachedTo = ({ parent, name, qualified }: Definition): string =>
  parent < 0 && qualified.length > name.length ? qualified.slice(0, -name.length - 1) : "";

/** By path: answers must not depend on the order in which files were added. */
export const inOrder = (project: ProjectFiles, files: readonly number[]): readonly FileRecord[] =>
  files
    .map((id) => project.file(id))
    .filter((file) => file !== undefined)
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
