import { realpathSync, statSync } from "node:fs";
import { extname } from "node:path";
import type { ConfinedProgram } from "./contract.ts";

/** A program with every path real, and what it may read in one list. */
export interface ResolvedProgram {
  readonly program: string;
  readonly readable: readonly string[];
  /** Names that lead to some of what it may read: imports are looked for under them. */
  readonly links?: readonly { readonly path: string; readonly real: string }[];
}

export const isFolder = (path: string): boolean => statSync(path).isDirectory();

export const resolveProgram = ({
  program,
  code = [program],
  readable = [],
}: ConfinedProgram): ResolvedProgram => {
  const real = (path: string): string => realpathSync.native(path);
  return {
    program: real(program),
    readable: [...new Set([program, ...code, ...readable].map(real))],
    links: code.map((path) => ({ path, real: real(path) })).filter(({ path, real: to }) => path !== to),
  };
};

/**
 * MiB of address space that the compiler of Node reserves. RLIMIT_DATA counts them in full, so where that limit holds the
 * memory, the compiler is off.
 */
const COMPILER_MB = 512;

/** Without a compiler there is no WebAssembly, by which Node reads TypeScript: a checkout cannot do without. */
const needsCompiler = ({ usesWebAssembly = false }: ConfinedProgram, program: string): boolean =>
  usesWebAssembly || extname(program) === ".ts";

/** How a program is called. */
export interface ProgramPlan {
  readonly argv: readonly string[];
  /** RLIMIT_DATA, where that is to hold the memory. */
  readonly dataMb: number | undefined;
  /** Whether that is the limit that was asked for. */
  readonly isExact: boolean;
}

/**
 * Node asks the package.json above a program whether it is an ES module, and may not walk up to it. It would then compile the
 * program twice, and strip its types again at every start. With an import of any kind it does not ask.
 */
const ES_MODULE = ["--import", "data:text/javascript,"];

/** From version 25 on, the model is about the network, too; here the kernel is, and inherited sockets must work. */
const networkFlags = Number.parseInt(process.versions.node, 10) >= 25 ? ["--allow-net"] : [];

/** Node's own permission model is on in every tier: a bug in one wall does not open the other. */
export const nodePlan = (
  node: string,
  wanted: ConfinedProgram,
  { program, readable, links = [] }: ResolvedProgram,
  boundByData: boolean,
): ProgramPlan => {
  const { limits, nodeFlags = [], args = [] } = wanted;
  const keepsCompiler = needsCompiler(wanted, program);
  const allowed = [...readable, ...links.map(({ path }) => path)].map(
    (path) => `--allow-fs-read=${isFolder(path) ? `${path}/*` : path}`,
  );
  return {
    argv: [
      node,
      "--permission",
      ...allowed,
      ...networkFlags,
      "--disable-warning=SecurityWarning",
      "--disable-warning=ExperimentalWarning",
      ...(boundByData && !keepsCompiler ? ["--jitless"] : []),
      ...ES_MODULE,
      ...nodeFlags,
      program,
      ...args,
    ],
    dataMb: boundByData ? limits.memoryMb + (keepsCompiler ? COMPILER_MB : 0) : undefined,
    isExact: !keepsCompiler,
  };
};
