import { expect, it } from "vitest";
import { compareRanked, createNameRanker, type RankedName } from "./rank-names.ts";

it.each([
  ["user.ts", "src/user.ts", "exact"],
  ["user", "src/user.ts", "stem"],
  ["user", "src/user.test.ts", "prefix"],
  ["user", "src/user-service.ts", "prefix"],
  ["service", "src/user-service.ts", "word"],
  ["service", "src/UserService.ts", "word"],
  ["service", "src/user_service.ts", "word"],
  ["service", "src/userservice.ts", "substring"],
  ["host", "src/host/files.ts", "path"],
  ["usrsvc", "src/user-service.ts", "subsequence"],
  ["zzz", "src/user.ts", undefined],
  ["USER.TS", "src/user.ts", "exact"],
  ["userservice", "src/UserService.ts", "stem"],
  [".env", "conf/.env", "exact"],
  ["host/files", "src/host/files.ts", "stem"],
  ["host/files.ts", "src/host/files.ts", "exact"],
  ["./src/host/files.ts", "src/host/files.ts", "exact"],
  ["host/fi", "src/host/files.ts", "prefix"],
  ["st/files", "src/host/files.ts", "substring"],
  ["s/h/f", "src/host/files.ts", "subsequence"],
  ["files/host", "src/host/files.ts", undefined],
  ["makefile", "Makefile", "exact"],
  ["é", "src/É.md", "stem"],
] as const)("%s in %s is %s", (pattern, path, rank) => {
  expect(createNameRanker(pattern)(path)?.rank).toBe(rank);
});

const order = (pattern: string, paths: readonly string[]): string[] =>
  paths
    .map(createNameRanker(pattern))
    .filter((ranked): ranked is RankedName => ranked !== undefined)
    .sort(compareRanked)
    .map(({ path }) => path);

it("REQ-F6 puts the best first, whatever the order they come in", () => {
  const best = [
    "lib/user",
    "src/user.ts",
    "src/user.test.ts",
    "src/user-service.ts",
    "the/new-user.ts",
    "src/superuser.ts",
    "user/main.ts",
    "src/u-s-e-r.ts",
  ];
  expect(order("user", best)).toEqual(best);
  expect(order("user", [...best].reverse())).toEqual(best);
});

it("prefers the capitals asked for, shorter paths, then the letters", () => {
  expect(order("User", ["a/user.ts", "a/User.ts"])).toEqual(["a/User.ts", "a/user.ts"]);
  expect(order("user", ["a/b/user.ts", "b/user.ts", "a/user.ts"])).toEqual([
    "a/user.ts",
    "b/user.ts",
    "a/b/user.ts",
  ]);
});
