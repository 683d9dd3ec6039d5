import { expect, test } from "vitest";
import { type ClientLine, createClientLines } from "./client-lines.ts";
import { createLineFeed } from "./line-feed.ts";

const MAX_BYTES = 100_000;

const openFeed = () => {
  const lines = createClientLines();
  const given: number[] = [];
  const feed = createLineFeed({
    lines,
    maxBytes: () => MAX_BYTES,
    hasFront: () => true,
    deliver: (line) => {
      line.fronts++;
      given.push(line.n);
    },
  });
  return {
    given,
    add: (bytes: number): ClientLine => {
      const line = lines.add(Buffer.alloc(bytes));
      feed.add(line);
      return line;
    },
    answer: (line: ClientLine): void => {
      lines.settle(line);
      feed.flow();
    },
  };
};

test("FAIL-D9 REQ-I9 a front has no more large lines at once than it has memory for, and gets the others later, in order", () => {
  const { given, add, answer } = openFeed();
  const [first] = [add(60_000), add(40_000), add(60_000), add(10)];
  expect(given).toEqual([1, 2]);
  answer(first);
  expect(given).toEqual([1, 2, 3, 4]);
});

test("FAIL-D9 a line that is longer than that is served all the same, without other large ones", () => {
  const { given, add, answer } = openFeed();
  // A subscription, which is never answered.
  add(200);
  const large = add(5 * MAX_BYTES);
  add(200);
  add(10_000);
  expect(given).toEqual([1, 2, 3]);
  answer(large);
  expect(given).toEqual([1, 2, 3, 4]);
});

test("FAIL-D5 beyond the lines that a front works on at once, another one comes in a while: it may cancel one of them", async () => {
  const { given, add } = openFeed();
  for (let n = 1; n <= 300; n++) add(100);
  const { length } = given;
  expect(length).toBeLessThan(300);
  await expect.poll(() => given.length).toBe(300);
  expect(given).toEqual(given.toSorted((a, b) => a - b));
});
