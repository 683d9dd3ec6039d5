import { describe, expect, test } from "vitest";
import { coverFiles } from "./cover-files.ts";

const isCovered = (file: string, cover: readonly string[]): boolean =>
  cover.some((path) => file === path || file.startsWith(`${path}/`));

describe("a cover of many files", () => {
  test("is the files themselves where they are few", () => {
    expect(coverFiles(["/w/a", "/w/b/c"], ["/w"], 2)).toEqual(["/w/a", "/w/b/c"]);
  });

  test("closes the crowded folder, and leaves the others open", () => {
    const crowd = Array.from({ length: 50 }, (_, i) => `/w/x/crowd/${i}.key`);
    const cover = coverFiles([...crowd, "/w/.env", "/w/x/other/.env", "/w/y/.env"], ["/w"], 10);
    expect(cover?.toSorted()).toEqual(["/w/.env", "/w/x/crowd", "/w/x/other/.env", "/w/y/.env"]);
  });

  test.each([
    ["one in each of very many folders", (i: number) => `/w/${i % 7}/${i % 101}/${i}/.env`],
    ["two in each", (i: number) => `/w/a/${i >> 1}/${i & 1}.key`],
    ["in two roots, one in the other", (i: number) => `/w/sub/${i % 3}/${i}.key`],
  ])("covers all and keeps to the bound: %s", (_, name) => {
    const files = Array.from({ length: 5000 }, (_each, i) => name(i));
    const cover = coverFiles(files, ["/w", "/w/sub"], 60);
    expect(cover?.length).toBeLessThanOrEqual(60);
    expect(files.filter((file) => !isCovered(file, cover ?? []))).toEqual([]);
    expect(isCovered("/w/other", cover ?? [])).toBe(false);
  });

  test("is refused where a root itself holds too many", () => {
    const files = Array.from({ length: 11 }, (_, i) => `/w/${i}.key`);
    expect(coverFiles(files, ["/w"], 10)).toBeUndefined();
    expect(coverFiles(files, ["/"], 10)).toEqual(["/w"]);
  });
});
