import { expect, onTestFinished, test, vi } from "vitest";
import type { Claim, Generation, Store } from "../store/contract.ts";
import { createDocumentClaims } from "./document-claims.ts";

test("REQ-K1 FAIL-F6: while the store is slow, no claim of a living run becomes stale", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const other: Claim = { key: "a.md", holder: "another run", beat: 1, failure: undefined };
  const dropped: Claim[] = [];
  let held: Promise<void> | undefined;
  const claims = {
    renew: async () => held,
    others: async () => [other],
    drop: async (_: number, claim: Claim) => void dropped.push(claim),
    release: async () => {},
  };
  const own = createDocumentClaims({ claims } as unknown as Store, { id: 1 } as Generation);
  await vi.advanceTimersByTimeAsync(1500);
  // Nobody gets anything from the store for ten seconds: the other run cannot renew its claim either.
  const { promise, resolve } = Promise.withResolvers<void>();
  held = promise;
  await vi.advanceTimersByTimeAsync(10_000);
  held = undefined;
  resolve();
  await vi.advanceTimersByTimeAsync(1000);
  expect(dropped).toEqual([]);
  // One that is not renewed while the store answers is given up.
  await vi.advanceTimersByTimeAsync(6000);
  expect(dropped).toContainEqual(other);
  await own.close();
});
