import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LlmcError } from "../base/error.ts";
import {
  insideRoots,
  judgeReal,
  judgeWritten,
  type PathRules,
  pathDenied,
  resolveRequestedPath,
  shownPath,
} from "./paths.ts";

const rules = (changes: Partial<PathRules> = {}): PathRules => ({
  workspace: "/w/app",
  roots: ["/w/app"],
  writtenRoots: ["/w/app"],
  ...changes,
});

const name = fc.stringMatching(/^[a-c. -]{1,3}$/).filter((part) => part !== "." && part !== "..");
const absolute = fc.array(name, { maxLength: 4 }).map((parts) => `/${parts.join("/")}`);

describe("insideRoots", () => {
  it.each([
    ["/w/app", ["/w/app"], true],
    ["/w/app/src/a.ts", ["/w/app"], true],
    ["/w/app/..a", ["/w/app"], true],
    ["/w/app-secret/x", ["/w/app"], false],
    ["/w/app-secret", ["/w/app"], false],
    ["/w/ap", ["/w/app"], false],
    ["/w", ["/w/app"], false],
    ["/", ["/w/app"], false],
    ["/etc/passwd", ["/w/app", "/etc"], true],
    ["/etc/passwd", ["/"], true],
    ["/", ["/"], true],
    ["/w/app/../../etc/passwd", ["/w/app"], false],
    ["/w/app/./x", ["/w/app"], false],
    ["/w/app//x", ["/w/app"], false],
    ["w/app", ["/w/app"], false],
    ["pipe:[4026]", ["/"], false],
    ["", ["/"], false],
  ])("FAIL-A2 %j in %j: %s", (path, roots, expected) => {
    expect(insideRoots(path, roots)).toBe(expected);
  });

  it("FAIL-A9 without roots nothing is inside", () => {
    fc.assert(fc.property(absolute, (path) => !insideRoots(path, [])));
  });

  it("FAIL-A2 is exactly a prefix by components", () => {
    const parts = (path: string): string[] => path.split("/").filter((part) => part !== "");
    fc.assert(
      fc.property(absolute, absolute, (path, root) => {
        const isPrefix = parts(root).every((part, i) => parts(path)[i] === part);
        expect(insideRoots(path, [root])).toBe(isPrefix);
      }),
    );
  });
});

describe("resolveRequestedPath", () => {
  it.each([
    [".", "/w/app"],
    ["src/a.ts", "/w/app/src/a.ts"],
    ["src//a.ts", "/w/app/src/a.ts"],
    ["./src/../b", "/w/app/b"],
    ["src/", "/w/app/src"],
    ["..", "/w"],
    ["../..", "/"],
    ["a/../../x", "/w/x"],
    ["/etc/passwd", "/etc/passwd"],
    ["/../../x", "/x"],
  ])("REQ-D4 FAIL-A1 %j is %j", (requested, path) => {
    expect(resolveRequestedPath(requested, "/w/app")).toBe(path);
  });

  it.each([
    "~",
    "~/x",
    "~root",
    "%2e%2e",
    "%2e%2e%2fx",
    "..\\..\\x",
    "C:\\x",
    "x. ",
    "x.",
    "...",
    "$HOME",
    "*",
    "-x",
  ])("FAIL-A1 takes %j literally", (requested) => {
    expect(resolveRequestedPath(requested, "/w/app")).toBe(`/w/app/${requested}`);
  });

  it("FAIL-A1 takes a file URL as names inside the workspace", () => {
    expect(resolveRequestedPath("file:///etc/passwd", "/w/app")).toBe("/w/app/file:/etc/passwd");
  });

  it.each([
    ["empty", ""],
    ["a NUL byte", "a\0b"],
    ["a hidden NUL byte", "src/a.ts\0.png"],
    ["a name of 256 bytes", "a".repeat(256)],
    ["a name of 86 characters and 258 bytes", "€".repeat(86)],
    ["5,000 bytes", "a/".repeat(2500)],
    ["5,000 bytes that come to nothing", "./".repeat(2500)],
    ["4,096 bytes once resolved", `${"a/".repeat(2044)}a`],
  ])("FAIL-A1 refuses %s", (_what, requested) => {
    expect(() => resolveRequestedPath(requested, "/w/app")).toThrow(
      expect.objectContaining({ code: "path_denied" }),
    );
  });

  it("FAIL-A1 takes a name of 255 bytes", () => {
    expect(resolveRequestedPath("a".repeat(255), "/w/app")).toBe(`/w/app/${"a".repeat(255)}`);
  });

  it("FAIL-A1 gives a normal absolute path or a refusal, whatever the requested", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("..", "/", "a", "\0", "~", ".") })),
        (requested) => {
          try {
            expect(insideRoots(resolveRequestedPath(requested, "/w/app"), ["/"])).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(LlmcError);
          }
        },
      ),
    );
  });
});

describe("judging a path", () => {
  it.each([
    ["/w/app/a", rules(), undefined],
    ["/w/app", rules(), undefined],
    ["/proc/self/environ", rules(), "outside"],
    ["/proc/7/environ", rules({ roots: ["/"] }), "system"],
    ["/proc", rules({ roots: ["/", "/proc"] }), "system"],
    ["/sys/kernel/x", rules({ roots: ["/sys"] }), "system"],
    ["/process/x", rules({ roots: ["/"] }), undefined],
    ["/w/app/a", rules({ roots: [] }), "outside"],
    [`/w/app${"/a".repeat(126)}`, rules(), undefined],
    [`/w/app${"/a".repeat(127)}`, rules(), "deep"],
    [`/w/app${"/name".repeat(127)}`, rules(), "deep"],
    ["/a".repeat(1000), rules(), "outside"],
  ])("REQ-D4 FAIL-A6 real %j: %#", (path, given, refusal) => {
    expect(judgeReal(path, given)).toBe(refusal);
  });

  it("REQ-D4 lets written roots pass by their letters only", () => {
    const linked = rules({ roots: ["/data/app"], writtenRoots: ["/w/link"] });
    expect(judgeWritten("/w/link/x", linked)).toBeUndefined();
    expect(judgeWritten("/data/app/x", linked)).toBeUndefined();
    expect(judgeWritten("/w/other", linked)).toBe("outside");
    expect(judgeReal("/w/link/x", linked)).toBe("outside");
  });

  it("FAIL-A9 denies everything by its letters where no root is left", () => {
    expect(judgeWritten("/w/app/a", rules({ roots: [] }))).toBe("outside");
  });
});

describe("what is told", () => {
  it("names the caller's requested, and the reason", () => {
    const error = pathDenied("../x\n", "outside", rules());
    expect(error).toMatchObject({ code: "path_denied", message: '"../x?" is outside the allowed roots.' });
    expect(pathDenied("x", "denylist", rules()).message).toContain("mcp.tools.denylist_globs");
  });

  it("FAIL-A9 says that there are no roots", () => {
    expect(pathDenied("x", "outside", rules({ roots: [] })).hint).toContain("no roots");
  });

  it.each([
    ["/w/app/src/a.ts", "src/a.ts"],
    ["/w/app", "."],
    ["/w/app-2/x", "/w/app-2/x"],
    ["/data/x", "/data/x"],
  ])("shows %j as %j", (path, shown) => {
    expect(shownPath(path, "/w/app")).toBe(shown);
  });
});
