import { expect, test } from "vitest";
import { createRefusalLog } from "./refusal-log.ts";

test("REQ-O2: who was limited is named, and what is not logged is summed up at the end of its window", async () => {
  const lines: Readonly<Record<string, string | number>>[] = [];
  const bound = { windowMs: 1000, maxLines: 5 };
  const log = createRefusalLog(
    () => performance.now(),
    (fields) => lines.push(fields),
    bound,
  );
  for (let i = 0; i < 40; i++)
    log.record("rate", { token_name: i % 4 === 0 ? "ci" : "bot", correlation_id: `id-${i}` });
  expect(lines).toHaveLength(5);
  expect(lines[1]).toEqual({ token_name: "bot", correlation_id: "id-1" });
  await expect.poll(() => lines.length, { timeout: 3000 }).toBe(7);
  expect(lines.slice(5).toSorted((a, b) => Number(a["dropped"]) - Number(b["dropped"]))).toEqual([
    { token_name: "ci", correlation_id: "id-36", dropped: 8 },
    { token_name: "bot", correlation_id: "id-39", dropped: 27 },
  ]);
});

test("REQ-O2: refusals that are counted elsewhere are written one by one up to the bound, and the rest as a sum", () => {
  const lines: Readonly<Record<string, string | number>>[] = [];
  const log = createRefusalLog(
    () => 0,
    (fields) => lines.push(fields),
    { windowMs: 1000, maxLines: 5 },
  );
  log.record("malformed", { transport: "stdio" }, 3);
  log.record("malformed", { transport: "stdio" }, 10_000);
  log.flush();
  expect(lines.map(({ dropped = 1 }) => dropped)).toEqual([1, 1, 1, 1, 1, 9998]);
});
