import { realpathSync, statSync } from "node:fs";
import { extname } from "node:path";
import type { ConfinedProgram } from "./contract.ts";

/** A program with every path real, and what it may read in one list. */
export interface ResolvedProgram {
  readonly program: string;
  readonly readable: readonly string[];
  readonly sockets: readonly string[];
}

export const isFolder = (path: string): boolean => statSync(path).isDirectory();

export const resolveProgram = ({
  program,
  code = [program],
  readable = [],
  sockets = [],
}: ConfinedProgram): ResolvedProgram => {
  const real = (path: string): string => realpathSync.native(path);
  return {
    program: real(program),
    readable: [...new Set([program, ...code, ...readable].map(real))],
    sockets: sockets.map(real),
  };
};

/**
 * MiB of address space that the compiler of Node reserves. RLIMIT_DATA counts them in full, so where that limit holds the
 * memory, the compiler is off.
 */
const COMPILER_MB = 512;

/** Without a compiler there is no WebAssembly, by which Node reads TypeScript: a checkout cannot do without. */
const needsCompiler = (program: string): boolean => extname(program) === ".ts";

/** How a program is called. */
export interface ProgramPlan {
  readonly argv: readonly string[];
  /** RLIMIT_DATA, where that is to hold the memory. */
  readonly dataMb: number | undefined;
  /** Whether that is the limit that was asked for. */
  readonly isExact: boolean;
}

/** From version 25 on, the model is about the network, too; here the kernel is, and inherited sockets must work. */
const networkFlags = Number.parseInt(process.versions.node, 10) >= 25 ? ["--allow-net"] : [];

/** Node's own permission model is on in every tier: a bug in one wall does not open the other. */
export const nodePlan = (
  node: string,
  wanted: ConfinedProgram,
  { program, readable }: ResolvedProgram,
  boundByData: boolean,
): ProgramPlan => {
  const { limits, nodeFlags = [], args = [] } = wanted;
  const keepsCompiler = needsCompiler(program);
  const allowed = readable.map((path) => `--allow-fs-read=${isFolder(path) ? `${path}/*` : path}`);
  return {
    argv: [
      node,
      "--permission",
      ...allowed,
      ...networkFlags,
      "--disable-warning=SecurityWarning",
      "--disable-warning=ExperimentalWarning",
      ...(boundByData && !keepsCompiler ? ["--jitless"] : []),
      ...nodeFlags,
      program,
      ...args,
    ],
    dataMb: boundByData ? limits.memoryMb + (keepsCompiler ? COMPILER_MB : 0) : undefined,
    isExact: !keepsCompiler,
  };
};
