import { closeSync, openSync, readFileSync, readSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

/** A file, and a name under which the dynamic linker looks for it. */
interface LinkedFile {
  readonly path: string;
  readonly real: string;
}

/** What it takes to start a program. */
export interface ExecutableFiles {
  readonly file: string;
  /** The dynamic linker and the shared libraries that it needs, under each of their names. */
  readonly libraries: readonly LinkedFile[];
  /** Folders in which the linker is to look. */
  readonly libraryFolders: readonly string[];
}

const PT_INTERP = 3;

/** The dynamic linker that a 64-bit little-endian program names; undefined for a static one. */
const interpreterOf = (program: string): string | undefined => {
  const descriptor = openSync(program, "r");
  try {
    const head = Buffer.alloc(4096);
    readSync(descriptor, head, 0, head.length, 0);
    const [table, entryBytes, entries] = [
      Number(head.readBigUInt64LE(32)),
      head.readUInt16LE(54),
      head.readUInt16LE(56),
    ];
    for (let index = 0; index < entries; index++) {
      const at = table + entryBytes * index;
      if (at + entryBytes > head.length) break;
      if (head.readUInt32LE(at) !== PT_INTERP) continue;
      const path = Buffer.alloc(Number(head.readBigUInt64LE(at + 32)));
      readSync(descriptor, path, 0, path.length, Number(head.readBigUInt64LE(at + 8)));
      return path.toString("utf8").replace(/\0.*$/s, "");
    }
    return undefined;
  } finally {
    closeSync(descriptor);
  }
};

/** Shared libraries that this very process has mapped; addons are not needed to start Node. */
const mappedLibraries = (): readonly string[] => {
  const paths = new Set<string>();
  for (const line of readFileSync("/proc/self/maps", "utf8").split("\n")) {
    const path = /^\S+ ..x. \S+ \S+ \S+\s+(\/.*)$/.exec(line)?.[1];
    if (path !== undefined && /\.so(\.[\d.]+)?$/.test(path)) paths.add(path);
  }
  return [...paths];
};

const leadsTo = (path: string, real: string): boolean => {
  try {
    return realpathSync.native(path) === real;
  } catch {
    return false;
  }
};

/**
 * The files themselves and the shorter names that lead to them in their folders: programs ask for `libstdc++.so.6`, not for
 * `libstdc++.so.6.0.30`.
 */
const withNames = (real: string): readonly LinkedFile[] => {
  const names = [real];
  for (let path = real; /\.so\.[\d.]*$/.test(path); names.push(path)) path = path.replace(/\.\d*$/, "");
  return names.filter((path) => leadsTo(path, real)).map((path) => ({ path, real }));
};

let found: ExecutableFiles | undefined;

/** What it takes to start the Node that runs this; a process has only one. */
export const nodeFiles = (): ExecutableFiles => {
  if (found !== undefined) return found;
  const file = realpathSync.native(process.execPath);
  const interpreter = interpreterOf(file);
  const libraries = mappedLibraries().flatMap(withNames);
  const libraryFolders = [...new Set(libraries.map(({ path }) => dirname(path)))];
  if (interpreter !== undefined)
    libraries.push({ path: interpreter, real: realpathSync.native(interpreter) });
  found = { file, libraries, libraryFolders };
  return found;
};
