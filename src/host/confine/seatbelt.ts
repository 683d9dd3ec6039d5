import { isFolder, type ResolvedProgram } from "./node-arguments.ts";

/** macOS has it everywhere; Apple calls it deprecated and uses it for its own programs. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** A string of the profile language, a Scheme. */
const quoted = (value: string): string => `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

const pathRule = (path: string, isDirectory: boolean): string =>
  `(${isDirectory ? "subpath" : "literal"} ${quoted(path)})`;

/** Where the system keeps its own libraries; nothing of a user's. */
const SYSTEM = ["/System/Library", "/usr/lib", "/Library/Apple/System/Library", "/private/var/db/dyld"];

/**
 * Refuses everything that is not named: files but the program's own and the system's libraries, the network, other
 * processes. A profile bounds neither memory nor CPU.
 */
export const seatbeltProfile = (
  node: string,
  { readable }: ResolvedProgram,
  isDirectory: (path: string) => boolean = isFolder,
): string =>
  [
    "(version 1)",
    "(deny default)",
    "(deny process-fork)",
    `(allow process-exec (literal ${quoted(node)}))`,
    "(allow signal (target self))",
    "(allow sysctl-read)",
    // Names and sizes, on the way to a file that may be read.
    "(allow file-read-metadata)",
    "(allow file-read*",
    `  (literal "/") (literal "/dev/null") (literal "/dev/random") (literal "/dev/urandom")`,
    ...SYSTEM.map((path) => `  ${pathRule(path, true)}`),
    `  ${pathRule(node, false)}`,
    ...readable.map((path) => `  ${pathRule(path, isDirectory(path))}`),
    ")",
    // On a listener that it inherits: it can neither make a socket nor bind one.
    "(allow network-inbound)",
    "",
  ].join("\n");
