import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createFrontLog } from "./front-log.ts";
import { LinkBroken } from "./link-broken.ts";
import { parseLog } from "./request.ts";

const posted = (isSpoken: boolean, breaks = 0) => {
  const bodies: string[] = [];
  let left = breaks;
  const log = createFrontLog({
    speaks: () => isSpoken,
    post: async (_path, body) => {
      if (left-- > 0) throw new LinkBroken("gone");
      bodies.push(body);
    },
  });
  return { log, entries: () => bodies.flatMap((body) => parseLog(Buffer.from(body)).entries) };
};

test("REQ-O5 refusals are counted by their reason, and stay within what the core takes in one piece", async () => {
  const { log, entries } = posted(true);
  for (let i = 0; i < 5000; i++) log.refused(`reason ${i} ${"x".repeat(600)}`);
  for (let i = 0; i < 200; i++) log.warn("a line");
  await log.close();
  const counts = entries().flatMap((entry) => ("kind" in entry ? [entry.count] : []));
  expect(counts.reduce((sum, one) => sum + one, 0)).toBe(5000);
  expect(entries().length).toBeLessThanOrEqual(100);
});

test("REQ-O5 what a core did not hear is told to the next one, as long as there is a front", async () => {
  const { log, entries } = posted(true, 2);
  log.refused("broken");
  log.refused("broken");
  await expect.poll(entries).toEqual([{ kind: "refusal", message: "broken", count: 2 }]);
  const { log: other, entries: never } = posted(true, 1e9);
  other.refused("broken");
  await other.close();
  await sleep(300);
  expect(never()).toEqual([]);
});

test("REQ-I6 a core of the version before, which knows no refusals, gets lines for its log", async () => {
  const { log, entries } = posted(false);
  log.refused("broken");
  await log.close();
  expect(entries()).toEqual([{ level: "warn", message: "message refused: broken" }]);
});
