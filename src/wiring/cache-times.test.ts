import { expect, test } from "vitest";
import { createCaches } from "../base/caches.ts";
import { CACHE_MS } from "./cache-times.ts";

test.each([
  ["kb", 5],
  ["permissions", 15],
  ["schemas", 60],
] as const)("REQ-I8: what the cache %s keeps is made anew after %i minutes", (name, minutes) => {
  let ms = 0;
  let made = 0;
  const cache = createCaches({ maxBytes: () => 1000, now: () => ms }).open(name, CACHE_MS[name]);
  const get = (): number => {
    cache.get("key", () => made++);
    return made;
  };
  expect(get()).toBe(1);
  ms = minutes * 60_000 - 1;
  expect(get()).toBe(1);
  ms = minutes * 60_000;
  expect(get()).toBe(2);
});
