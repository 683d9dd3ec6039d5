import { describe, expect, test } from "vitest";
import { compareVersions, compileRange, nextMinor, parseVersion } from "./semver.ts";

describe("versions: REQ-K2", () => {
  test("are ordered as semver.org says", () => {
    const sorted =
      "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.2.0 1.10.0".split(
        " ",
      );
    expect(sorted.map(parseVersion).toReversed().toSorted(compareVersions)).toEqual(sorted);
    for (const bad of ["1", "1.2", "01.2.3", "1.2.3.4", "x", "", "1.2.3-"])
      expect(() => parseVersion(bad)).toThrow(/not a semantic version/);
    expect([nextMinor(undefined), nextMinor(parseVersion("1.4.2")), parseVersion("v1.0.0")]).toEqual([
      "1.0.0",
      "1.5.0",
      "1.0.0",
    ]);
  });

  test("a version after the last one is an error, and no label that nobody could read", () => {
    expect(() => nextMinor(parseVersion("999999999.999999999.0"))).toThrow(/no minor version after/);
    expect(nextMinor(parseVersion("999999999.999999998.0"))).toBe("999999999.999999999.0");
  });

  test.each([
    ["^1.2.3", ["1.2.3", "1.9.0"], ["1.2.2", "2.0.0", "2.0.0-rc.1", "1.3.0-beta"]],
    ["^0.2.3", ["0.2.3", "0.2.9"], ["0.3.0"]],
    ["^0.0.3", ["0.0.3"], ["0.0.4"]],
    ["~1.2", ["1.2.0", "1.2.9"], ["1.3.0"]],
    ["1.x", ["1.0.0", "1.99.0"], ["2.0.0", "0.9.0"]],
    ["*", ["0.0.1", "9.9.9"], ["1.0.0-rc.1"]],
    [">=1.0.0 <2.0.0", ["1.0.0", "1.9.9"], ["2.0.0", "0.9.9"]],
    [">1.2", ["1.3.0"], ["1.2.9"]],
    ["<=1.2", ["1.2.9"], ["1.3.0"]],
    ["1.0.0 - 1.5.0", ["1.0.0", "1.5.0"], ["1.5.1"]],
    ["1.0.0 || ^2.0.0", ["1.0.0", "2.5.0"], ["1.0.1"]],
    [">=1.0.0-0", ["1.0.0-alpha", "1.0.0", "2.0.0"], ["1.1.0-alpha"]],
    ["^1.2.0-0", ["1.2.0-rc.1", "1.9.0"], ["1.3.0-rc.1", "2.0.0-rc.1"]],
    [">=1.0.0-beta.2", ["1.0.0-beta.3", "1.0.0"], ["1.0.0-beta.1", "1.1.0-beta.9"]],
  ])("the range %s", (range, inside, outside) => {
    const isIn = compileRange(range);
    expect(inside.filter((version) => !isIn(version))).toEqual([]);
    expect(outside.filter(isIn)).toEqual([]);
  });

  test.each(["banana", "^x.y.z.w", "1.2.3.4", ">>1", "a".repeat(300)])("no range: %s", (range) => {
    expect(() => compileRange(range)).toThrow(/not a range/);
  });
});
