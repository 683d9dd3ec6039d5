import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OracleAnswer, OracleLocation, OracleUse, Project } from "./oracle.ts";

/** Long brackets, strings and comments. */
const NO_CODE =
  /--\[(=*)\[[\s\S]*?\]\1\]|\[(=*)\[[\s\S]*?\]\2\]|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|--[^\n]*/g;
const TABLE = /^local (\w+) = \{\}/;
const FUNCTION = /^(?:function (\w+)[.:](\w+)|(\w+)\.(\w+) = function\b)/;
const MEMBER = /(?<![\w.:])(\w+)[.:](\w+)\b\s*([("'{])?/g;

interface LuaFile {
  readonly path: string;
  readonly lines: readonly string[];
  readonly tables: ReadonlySet<string>;
}

const readLua = (folder: string, path: string): LuaFile => {
  const text = readFileSync(join(folder, path), "utf8");
  const lines = text.replace(NO_CODE, (part) => part.replace(/[^\n]/g, " ")).split("\n");
  return { path, lines, tables: new Set(lines.flatMap((line) => TABLE.exec(line)?.[1] ?? [])) };
};

const functionAt = (line: string): readonly [table: string, name: string] | undefined => {
  const found = FUNCTION.exec(line);
  return found === null ? undefined : [found[1] ?? found[3] ?? "", found[2] ?? found[4] ?? ""];
};

/**
 * No compiler knows where a member of a Lua table is used. In a project that keeps all its functions in tables which are
 * local to a file, or global with a name that no other file uses, the text does: `Table.name` outside of strings and
 * comments.
 */
export const luaOracle = ({ folder, paths }: Project): OracleAnswer => {
  const files = paths.map((path) => readLua(folder, path));
  const definitions: OracleLocation[] = [];
  /** By `table.name`, in one file and in all of them. */
  const local = new Map<string, OracleLocation>();
  const global = new Map<string, OracleLocation[]>();
  for (const { path, lines, tables } of files)
    for (const [row, line] of lines.entries()) {
      const [table = "", name = ""] = functionAt(line) ?? [];
      if (!tables.has(table)) continue;
      const location = { path, line: row + 1, name };
      definitions.push(location);
      local.set(`${path} ${table}.${name}`, location);
      global.set(`${table}.${name}`, [...(global.get(`${table}.${name}`) ?? []), location]);
    }
  const uses: OracleUse[] = [];
  for (const { path, lines, tables } of files) {
    let caller: OracleLocation | undefined;
    for (const [row, line] of lines.entries()) {
      const [table, name] = functionAt(line) ?? [];
      if (name !== undefined) caller = local.get(`${path} ${table}.${name}`);
      for (const [, owner = "", member = "", opening] of line.matchAll(MEMBER)) {
        const locations = global.get(`${owner}.${member}`) ?? [];
        const target = tables.has(owner) ? local.get(`${path} ${owner}.${member}`) : locations[0];
        if (target === undefined || (!tables.has(owner) && locations.length > 1)) continue;
        if (target.path === path && target.line === row + 1) continue;
        uses.push({ path, line: row + 1, target, caller: opening === undefined ? undefined : caller });
      }
      if (/^\S.*\bend\b|^end\b/.test(line)) caller = undefined;
    }
  }
  return { definitions, uses };
};
