import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type LanguageServer, startLanguageServer } from "./language-server.ts";
import type { OracleAnswer, OracleLocation, OracleUse, Project } from "./oracle.ts";

const CONFIG = {
  include: ["."],
  exclude: [],
  pythonVersion: "3.13",
  pythonPlatform: "All",
  typeCheckingMode: "off",
};

/** No interpreter: what happens to be installed on a machine must not change the answer. */
const SETTINGS = { python: { pythonPath: "/nonexistent/python" } };

/** Numbers of the protocol. */
const CLASS = 5;
const METHOD = 6;
const FUNCTION = 12;
const COUNTED = new Set([CLASS, METHOD, FUNCTION]);

interface Position {
  readonly line: number;
  readonly character: number;
}

interface Range {
  readonly start: Position;
  readonly end: Position;
}

interface DocumentSymbol {
  readonly name: string;
  readonly kind: number;
  readonly range: Range;
  readonly selectionRange: Range;
  readonly children?: readonly DocumentSymbol[];
}

interface Located {
  readonly uri: string;
  readonly range: Range;
}

/** A function that can be a caller, with the lines it spans. */
interface Caller {
  readonly location: OracleLocation;
  readonly from: number;
  readonly to: number;
}

const pyright = (): string | undefined => {
  try {
    return fileURLToPath(import.meta.resolve("pyright/langserver.index.js"));
  } catch {
    return undefined;
  }
};

const open = async (project: Project, script: string): Promise<LanguageServer> => {
  writeFileSync(join(project.folder, "pyrightconfig.json"), JSON.stringify(CONFIG));
  const server = startLanguageServer(script, project.folder, SETTINGS);
  const rootUri = pathToFileURL(project.folder).href;
  await server.request("initialize", {
    processId: process.pid,
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: project.name }],
    capabilities: {
      workspace: { configuration: true, workspaceFolders: true },
      textDocument: { documentSymbol: { hierarchicalDocumentSymbolSupport: true } },
    },
  });
  server.notify("initialized", {});
  return server;
};

/** Between a name and the one that an import gives it; `except` and `with` bind a value. */
const AS = /^\s+as\s+(?=\w)/;
const BINDS_VALUE = /^\s*(?:async|case|except|with)\b/;

/** pyright lists the other definitions of a name (overloads, setters) among its references. */
const isDefinition = (line: string, { start }: Range): boolean =>
  /\b(?:def|class)\s+$/.test(line.slice(0, start.character));

/** Called, or applied as a decorator, which is a call too. */
const isCalled = (line: string, { start, end }: Range): boolean =>
  /^\s*\(/.test(line.slice(end.character)) || /^\s*@[\w.]*$/.test(line.slice(0, start.character));

/** Every function, method and class of the project, and where pyright says it is referred to. */
export const pythonOracle = async (project: Project): Promise<OracleAnswer | undefined> => {
  const script = pyright();
  if (script === undefined) return undefined;
  const server = await open(project, script);
  try {
    return await answer(project, server);
  } finally {
    server.stop();
  }
};

const answer = async (project: Project, server: LanguageServer): Promise<OracleAnswer> => {
  const uriOf = (path: string): string => pathToFileURL(join(project.folder, path)).href;
  const own = new Map(project.paths.map((path) => [join(project.folder, path), path]));
  const lines = new Map<string, readonly string[]>();
  const definitions: OracleLocation[] = [];
  const callers = new Map<string, Caller[]>();
  const asked: { readonly location: OracleLocation; readonly path: string; readonly at: Position }[] = [];

  for (const path of project.paths) {
    const text = readFileSync(join(project.folder, path), "utf8");
    lines.set(path, text.split("\n"));
    const textDocument = { uri: uriOf(path), languageId: "python", version: 1, text };
    server.notify("textDocument/didOpen", { textDocument });
  }
  for (const path of project.paths) {
    const ofFile: Caller[] = [];
    /** @param holds whether a function around it is the caller of all inside: methods of a class are their own. */
    const visit = (symbol: DocumentSymbol, isHeld: boolean, inClass: boolean): void => {
      const { start } = symbol.selectionRange;
      if (COUNTED.has(symbol.kind)) {
        const location = { path, line: start.line + 1, name: symbol.name };
        definitions.push(location);
        asked.push({ location, path, at: start });
        if (symbol.kind !== CLASS && (inClass || !isHeld))
          // Decorators are in its range, but whoever defines it applies them.
          ofFile.push({ location, from: start.line, to: symbol.range.end.line });
      }
      const holds = symbol.kind === METHOD || symbol.kind === FUNCTION;
      for (const child of symbol.children ?? []) visit(child, isHeld || holds, symbol.kind === CLASS);
    };
    const found = await server.request("textDocument/documentSymbol", { textDocument: { uri: uriOf(path) } });
    for (const symbol of (found ?? []) as readonly DocumentSymbol[]) visit(symbol, false, false);
    callers.set(path, ofFile);
  }

  /** The innermost of the callers around a line: they nest only through classes. */
  const callerAt = (path: string, line: number): OracleLocation | undefined =>
    callers
      .get(path)
      ?.filter(({ from, to }) => from <= line && line <= to)
      .sort((a, b) => b.from - a.from)[0]?.location;

  const referencesTo = async (path: string, position: Position): Promise<readonly Located[]> => {
    const found = await server.request("textDocument/references", {
      textDocument: { uri: uriOf(path) },
      position,
      context: { includeDeclaration: false },
    });
    return (found ?? []) as readonly Located[];
  };

  const uses: OracleUse[] = [];
  for (const { location, path, at } of asked) {
    const seen = new Set<string>();
    const waiting = [{ path, at }];
    for (const { path: from, at: position } of waiting)
      for (const { uri, range } of await referencesTo(from, position)) {
        const user = own.get(fileURLToPath(uri));
        const key = `${user}:${range.start.line}:${range.start.character}`;
        if (user === undefined || seen.has(key)) continue;
        seen.add(key);
        const line = lines.get(user)?.[range.start.line] ?? "";
        if (isDefinition(line, range)) continue;
        // pyright looks for one name at a time: what an import renames has to be asked for by its new name.
        const renamed = AS.exec(line.slice(range.end.character))?.[0].length;
        if (renamed !== undefined && !BINDS_VALUE.test(line))
          waiting.push({
            path: user,
            at: { line: range.start.line, character: range.end.character + renamed },
          });
        uses.push({
          path: user,
          line: range.start.line + 1,
          target: location,
          caller: isCalled(line, range) ? callerAt(user, range.start.line) : undefined,
        });
      }
  }
  return { definitions, uses };
};
