import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { OracleAnswer, OracleLocation, OracleUse, Project } from "./oracle.ts";

/** Strings, lines of multi-line strings, characters and comments. */
const NO_CODE = /\\\\[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/[^\n]*/g;
const DECLARED =
  /^(?:pub )?(?:inline )?(?:fn (\w+)|const (\w+) = (?:extern |packed )?(?:struct|enum|union|error)\b)/;
const ANY_DECLARED = /^\s*(?:pub )?(?:inline )?(?:fn|const|var) (\w+)/;
const IMPORT = /^(?:pub )?const (\w+) = @import\("([^"]+)"\)/;
const CHAIN = /(?<![\w.@])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?!\w)\s*([({:]?)/g;

interface ZigFile {
  readonly path: string;
  readonly lines: readonly string[];
  /** Files by the name under which this one imports them. */
  readonly imports: ReadonlyMap<string, string>;
  /** What it declares at the top, under names that stand for nothing else in the file. */
  readonly declared: ReadonlyMap<string, OracleLocation>;
}

const targetOf = (path: string, source: string, paths: readonly string[]): string | undefined =>
  source.endsWith(".zig")
    ? join(dirname(path), source)
    : paths.find((one) => one === `${source}.zig` || one === `src/${source}.zig`);

const readZig = ({ folder, paths }: Project, path: string): ZigFile => {
  const text = readFileSync(join(folder, path), "utf8");
  const imports = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name = "", source = ""] = IMPORT.exec(line) ?? [];
    const target = targetOf(path, source, paths);
    if (name !== "" && target !== undefined) imports.set(name, target);
  }
  const lines = text.replace(NO_CODE, (part) => part.replace(/[^\n]/g, " ")).split("\n");
  const counts = new Map<string, number>();
  for (const line of lines) {
    const name = ANY_DECLARED.exec(line)?.[1];
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const declared = new Map<string, OracleLocation>();
  for (const [row, line] of lines.entries()) {
    const found = DECLARED.exec(line);
    const name = found?.[1] ?? found?.[2] ?? "";
    if (counts.get(name) === 1) declared.set(name, { path, line: row + 1, name });
  }
  return { path, lines, imports, declared };
};

/**
 * No compiler for Zig can be asked here, and none is needed for declarations at the top of a file: the language allows no
 * other name to hide them, and other files reach them only through `@import`. Members of types are not judged.
 */
export const zigOracle = (project: Project): OracleAnswer => {
  const files = new Map(project.paths.map((path) => [path, readZig(project, path)]));
  const meant = (file: ZigFile, [first = "", ...rest]: readonly string[]): OracleLocation | undefined => {
    const imported = files.get(file.imports.get(first) ?? "");
    if (imported !== undefined && rest.length > 0) return meant(imported, rest);
    return file.declared.get(first);
  };
  const uses: OracleUse[] = [];
  for (const file of files.values()) {
    let caller: OracleLocation | undefined;
    for (const [row, line] of file.lines.entries()) {
      const opened = DECLARED.exec(line)?.[1];
      if (opened !== undefined) caller = file.declared.get(opened);
      for (const [, chain = "", after = ""] of line.matchAll(CHAIN)) {
        const target = meant(file, chain.split("."));
        const isName = target?.path === file.path && target.line === row + 1;
        // `name: type` declares a field or parameter of that name.
        if (target === undefined || isName || (after === ":" && !chain.includes("."))) continue;
        uses.push({ path: file.path, line: row + 1, target, caller: after === "(" ? caller : undefined });
      }
      if (line.startsWith("}")) caller = undefined;
    }
  }
  return { definitions: [...files.values()].flatMap(({ declared }) => [...declared.values()]), uses };
};
