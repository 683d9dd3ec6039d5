import type { Import } from "../extract/file-symbols.ts";
import type { ConfigFiles } from "../project/config-files.ts";
import { type FileRecord, moduleKey } from "../project/family.ts";
import { inOrder, shapeOf } from "../project/shape.ts";
import { definitionOf, fileOf, type SymbolId, symbolId, type Table } from "../project/table.ts";
import { createModules } from "./modules.ts";

/** What a name can mean: a definition, the files of a module, or something that is not of this project. */
export type Named = NamedSymbol | NamedModule;

interface NamedSymbol {
  readonly kind: "symbol";
  readonly id: SymbolId;
}

interface NamedModule {
  readonly kind: "module";
  readonly files: readonly number[];
  readonly source: string;
}

export interface Names {
  /** Nothing is known: empty. Known not to be ours: "foreign". */
  lookup(file: FileRecord, name: string): readonly Named[] | "foreign";
  /** What a module offers under a name. */
  exported(files: readonly number[], name: string): readonly Named[];
  imported(file: FileRecord, entry: Import): readonly Named[] | "foreign";
  filesOf(file: FileRecord, source: string): readonly number[];
  /** Without an import: what stands in the same folder or package. */
  nearby(file: FileRecord, name: string): readonly Named[];
}

/** Chains of re-exports and of packages are short; cycles are cut here. */
const MAX_HOPS = 16;
/** Names whose meaning is kept: some tens of megabytes. */
const MAX_LOOKED = 200_000;

const NOTHING: readonly Named[] = [];

export const createNames = (table: Table, config: ConfigFiles): Names => {
  const modules = createModules(table, config);
  const looked = new Map<string, readonly Named[] | "foreign">();
  let lookedAt = -1;

  const symbolsIn = (file: FileRecord, name: string): readonly NamedSymbol[] =>
    (shapeOf(file).top.get(name) ?? []).map((index) => ({ kind: "symbol", id: symbolId(file.id, index) }));

  const imported = (file: FileRecord, entry: Import, hops = MAX_HOPS): readonly Named[] | "foreign" => {
    if (hops <= 0) return NOTHING;
    if (entry.source === "") {
      const own = symbolsIn(file, entry.name);
      return own.length > 0 ? own : lookupImport(file, entry.name, hops - 1);
    }
    const files = modules.files(file, entry.source);
    if (entry.name === "" || entry.name === "*") {
      if (files.length === 0)
        return modules.isOurs(file, entry.source)
          ? [{ kind: "module", files, source: entry.source }]
          : "foreign";
      const { wholeModule } = file.family;
      const whole = wholeModule === undefined ? NOTHING : exported(files, wholeModule, hops - 1);
      return whole.length > 0 ? whole : [{ kind: "module", files, source: entry.source }];
    }
    const found = exported(files, entry.name, hops - 1);
    if (found.length > 0) return found;
    if (entry.name === "default" && file.family.wholeModule !== undefined) {
      const whole = exported(files, file.family.wholeModule, hops - 1);
      if (whole.length > 0) return whole;
    }
    const members = memberOfSource(file, entry, hops);
    if (members.length > 0) return members;
    const inner = modules.inner(file, entry.source, entry.name);
    if (inner.length > 0) return [{ kind: "module", files: inner, source: `${entry.source}.${entry.name}` }];
    return files.length === 0 && !modules.isOurs(file, entry.source) ? "foreign" : NOTHING;
  };

  const lookupImport = (file: FileRecord, name: string, hops: number): readonly Named[] | "foreign" => {
    let foreign = false;
    for (const entry of file.imports) {
      if (entry.local !== name || entry.source === "") continue;
      if (entry.exported && file.family.reexportsBindNothing === true) continue;
      const found = imported(file, entry, hops);
      if (found === "foreign") foreign = true;
      else if (found.length > 0) return found;
    }
    if (foreign) return "foreign";
    for (const entry of file.imports) {
      if (entry.local !== "*" || entry.exported) continue;
      const found = exported(modules.files(file, entry.source), name, hops - 1);
      if (found.length > 0) return found;
    }
    return NOTHING;
  };

  const exported = (files: readonly number[], name: string, hops = MAX_HOPS): readonly Named[] => {
    if (hops <= 0 || files.length === 0) return NOTHING;
    const all: Named[] = [];
    for (const file of inOrder(table, files)) {
      const { hidesUnexported, hidesImports, hidesWildcards } = file.family;
      const own = symbolsIn(file, name).filter(
        ({ id }) => hidesUnexported !== true || table.definition(id)?.exported === true,
      );
      if (own.length > 0) {
        all.push(...own);
        continue;
      }
      for (const entry of file.imports) {
        if (hidesImports === true && !entry.exported) continue;
        if (entry.local === name) {
          const found = imported(file, entry, hops - 1);
          if (found !== "foreign" && found.length > 0) {
            all.push(...found);
            break;
          }
        } else if (entry.local === "*" && hidesWildcards !== true) {
          const found = exported(modules.files(file, entry.source), name, hops - 1);
          if (found.length > 0) {
            all.push(...found);
            break;
          }
        }
      }
    }
    return all;
  };

  /** `import static a.b.Store.open`, `import a.b.Store.Entry`: the source is a class, the name a member of it. */
  const memberOfSource = (file: FileRecord, entry: Import, hops: number): readonly Named[] => {
    const cut = Math.max(
      entry.source.lastIndexOf("."),
      entry.source.lastIndexOf("\\"),
      entry.source.lastIndexOf("::") + 1,
    );
    if (cut <= 0) return NOTHING;
    const source = entry.source.slice(0, cut).replace(/:+$/, "");
    const owners = imported(file, { ...entry, source, name: entry.source.slice(cut + 1) }, hops - 1);
    if (owners === "foreign") return NOTHING;
    return owners.flatMap((owner) => {
      const holder = owner.kind === "symbol" ? table.file(fileOf(owner.id)) : undefined;
      if (holder === undefined || owner.kind !== "symbol") return [];
      const members = shapeOf(holder).members.get(definitionOf(owner.id))?.get(entry.name) ?? [];
      return members.map((index) => ({ kind: "symbol" as const, id: symbolId(holder.id, index) }));
    });
  };

  /** `except ImportError: def name()`: what is not ours has a stand-in of our own, unless the import is inside of that. */
  const standIns = (file: FileRecord, name: string): readonly Named[] | "foreign" => {
    if (file.family.hasImportFallbacks !== true) return "foreign";
    const lines = file.imports.flatMap((entry) => (entry.local === name ? [entry.line] : []));
    const own = symbolsIn(file, name).filter(({ id }) => {
      const { startLine = 0, endLine = 0 } = table.definition(id) ?? {};
      return !lines.some((line) => line >= startLine && line <= endLine);
    });
    return own.length > 0 ? own : "foreign";
  };

  const nearby = (file: FileRecord, name: string): readonly Named[] => {
    const { reach } = file.family;
    const files =
      reach === "folder"
        ? table.inFolder.get(file.folder)
        : reach === "package"
          ? table.inModule.get(moduleKey(file.family, file.module))
          : [];
    return inOrder(table, files).flatMap((other) =>
      other.family === file.family ? symbolsIn(other, name) : [],
    );
  };

  return {
    filesOf: (file, source) => modules.files(file, source),
    exported: (files, name) => exported(files, name),
    imported: (file, entry) => imported(file, entry),
    nearby,
    lookup: (file, name) => {
      if (lookedAt !== table.generation) {
        looked.clear();
        lookedAt = table.generation;
      }
      const key = `${file.id} ${name}`;
      const known = looked.get(key);
      if (known !== undefined) return known;
      if (looked.size > MAX_LOOKED) looked.clear();
      // A cycle of wildcard imports asks for itself: meanwhile the answer is nothing.
      looked.set(key, NOTHING);
      let found = lookupImport(file, name, MAX_HOPS);
      if (found === "foreign") found = standIns(file, name);
      if (found.length === 0) {
        const own = symbolsIn(file, name);
        found = own.length > 0 ? own : nearby(file, name);
      }
      looked.set(key, found);
      return found;
    },
  };
};
