import { basename, dirname, join } from "node:path";
import { inOrder } from "../host/own-files/policy-files.ts";
import {
  createPolicyReading,
  type PolicySources,
  type ReadPolicies,
} from "../host/own-files/read-policies.ts";
import { realOrFuture } from "../host/own-files/real-or-future.ts";
import type { LiveWriters } from "../host/run/live-writers.ts";

/** Reads policy files; of those that a running command may have written, what was there before stands (REQ-D22). */
export const createPolicyReader = ({ mayHaveWritten }: Pick<LiveWriters, "mayHaveWritten">) => {
  let known: ReadonlyMap<string, ReadPolicies> = new Map();
  let isWaiting = false;

  const isUnchecked = (pattern: string): boolean =>
    mayHaveWritten(pattern) || mayHaveWritten(join(realOrFuture(dirname(pattern)), basename(pattern)));

  return {
    /** Whether the last reading left something out. */
    isWaiting: (): boolean => isWaiting,
    read: (sources: PolicySources): ReadPolicies => {
      const reading = createPolicyReading(sources);
      isWaiting = false;
      const results = inOrder(sources).map(({ pattern, isOperators }) => {
        if (!isUnchecked(pattern)) {
          const read = reading.read(pattern, isOperators);
          return { pattern, before: read, now: read };
        }
        isWaiting = true;
        const before = known.get(pattern) ?? { files: [], unreadable: [] };
        return { pattern, before, now: reading.keep(before) };
      });
      known = new Map(results.map(({ pattern, before }) => [pattern, before]));
      return {
        files: results.flatMap(({ now }) => now.files),
        unreadable: results.flatMap(({ now }) => now.unreadable),
      };
    },
  };
};
