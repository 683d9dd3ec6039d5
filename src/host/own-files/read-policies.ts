import { isMissing, systemErrorCode } from "../../base/system-error.ts";
import {
  createPolicyFinder,
  type FoundPolicies,
  inOrder,
  type PolicyPatterns,
  type UnreadablePolicy,
} from "./policy-files.ts";
import { readOwnFile } from "./read-own-file.ts";
import { realOrFuture } from "./real-or-future.ts";

/** Where policies come from, and whose they are: that is known before any of them is opened. */
export interface PolicySources extends PolicyPatterns {
  /** By its name and where it leads. */
  readonly isOperators: (path: string) => boolean;
  /** Of a path that is not the operator's and at which they trust some content: whether this is it. */
  readonly trustAt: (path: string) => ((text: string) => boolean) | undefined;
  /** Of all files together that are neither the operator's nor trusted. */
  readonly maxUntrustedBytes: number;
}

export interface PolicyText {
  readonly path: string;
  readonly text: string;
  readonly isOperators: boolean;
  /** Whether the operator trusts this very content. */
  readonly isTrusted: boolean;
}

export interface ReadPolicies {
  readonly files: readonly PolicyText[];
  readonly unreadable: readonly UnreadablePolicy[];
}

const MAX_BYTES = 1024 * 1024;

const TOO_LARGE = "a workspace's own policies take up to 8 KiB until it is trusted with them (llmc trust)";

const reasonOf = (error: unknown, isOperators: boolean): string => {
  if (isMissing(error)) return "there is no such file";
  const code = systemErrorCode(error);
  return code === "EFBIG" && !isOperators ? TOO_LARGE : (code ?? "cannot be read");
};

/**
 * One reading of all policies, pattern by pattern. What is neither the operator's nor trusted is opened with as much as is
 * left of one budget, and under one of its names.
 */
export const createPolicyReading = (sources: PolicySources) => {
  const find = createPolicyFinder();
  const names = new Set<string>();
  const reals = new Set<string>();
  let bytesLeft = sources.maxUntrustedBytes;

  /** Whether a file was met under another name. */
  const isAlias = (path: string): boolean => {
    const real = realOrFuture(path);
    const isKnown = reals.has(real);
    reals.add(real);
    return isKnown;
  };

  const readOne = (
    path: string,
    isOperators: boolean,
    readText: (path: string, maxBytes: number) => string,
  ): PolicyText | undefined => {
    const isTrustedText = isOperators ? undefined : sources.trustAt(path);
    const isFree = isOperators || isTrustedText !== undefined;
    if (isAlias(path) && !isFree) return undefined;
    const text = readText(path, isFree ? MAX_BYTES : Math.min(bytesLeft, MAX_BYTES));
    const isTrusted = isTrustedText?.(text) ?? false;
    const bytes = isOperators || isTrusted ? 0 : Buffer.byteLength(text);
    if (bytes > bytesLeft) throw Object.assign(new Error(TOO_LARGE), { code: "EFBIG" });
    bytesLeft -= bytes;
    return { path, text, isOperators, isTrusted };
  };

  const readAll = (
    { paths, unreadable }: FoundPolicies,
    readText: (path: string, maxBytes: number) => string,
  ): ReadPolicies => {
    const files: PolicyText[] = [];
    const failed = [...unreadable];
    for (const path of paths.filter((one) => !names.has(one))) {
      names.add(path);
      const isOperators = sources.isOperators(path);
      try {
        const file = readOne(path, isOperators, readText);
        if (file !== undefined) files.push(file);
      } catch (error) {
        failed.push({ path, reason: reasonOf(error, isOperators), isOperators });
      }
    }
    return { files, unreadable: failed };
  };

  return {
    read: (pattern: string, isOperators: boolean): ReadPolicies =>
      readAll(find(pattern, isOperators), (path, maxBytes) => readOwnFile(path, { maxBytes }).toString()),
    /** The same for what was read before, and is not to be read now. */
    keep: ({ files, unreadable }: ReadPolicies): ReadPolicies => {
      const texts = new Map(files.map(({ path, text }) => [path, text]));
      return readAll({ paths: [...texts.keys()], unreadable }, (path) => texts.get(path) ?? "");
    },
  };
};

/** Reads everything at once. */
export const readPolicies = (sources: PolicySources): ReadPolicies => {
  const reading = createPolicyReading(sources);
  const results = inOrder(sources).map(({ pattern, isOperators }) => reading.read(pattern, isOperators));
  return {
    files: results.flatMap(({ files }) => files),
    unreadable: results.flatMap(({ unreadable }) => unreadable),
  };
};
