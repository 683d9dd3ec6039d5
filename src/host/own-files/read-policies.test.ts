import { linkSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { type PolicySources, readPolicies } from "./read-policies.ts";

/** A folder of the operator's and one of a workspace, with as much room as a server gives. */
const standWith = (files: Readonly<Record<string, string>>) => {
  const root = tempWorkspace(files);
  const at = (path: string): string => join(root, path);
  const read = (others: readonly string[], more: Partial<PolicySources> = {}) => {
    const { files: found, unreadable } = readPolicies({
      operators: [at("operator/*.cedar")],
      others: others.map(at),
      isOperators: (path) => path.startsWith(at("operator/")),
      trustAt: () => undefined,
      maxUntrustedBytes: 8192,
      ...more,
    });
    return {
      files: found.map(({ path }) => path.slice(root.length + 1)),
      unreadable: unreadable.map(({ path, ...one }) => ({ path: path.slice(root.length + 1), ...one })),
    };
  };
  return { at, read };
};

const numbered = (count: number, name: (at: number) => string, text = ""): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), text]));

describe("REQ-D22 FAIL-A10: policy files that are not the operator's", () => {
  it("are read by each of their names once, whatever patterns and links lead to them", () => {
    const { at, read } = standWith({ "operator/a.cedar": "1", "ws/b.cedar": "2", "ws/c.txt": "" });
    symlinkSync(at("ws"), at("linked"));
    symlinkSync(at("ws/b.cedar"), at("ws/z.cedar"));
    symlinkSync(at("operator/a.cedar"), at("ws/y.cedar"));
    const patterns = ["ws/*.cedar", "ws/**.cedar", "ws/b.cedar", "linked/*.cedar"];
    expect(read(patterns)).toEqual({ files: ["operator/a.cedar", "ws/b.cedar"], unreadable: [] });
  });

  it("are not opened with more than is left of one budget for all of them", () => {
    const { at, read } = standWith({ "operator/a.cedar": "x".repeat(100_000) });
    const text = "x".repeat(4000);
    for (const name of ["ws-a.cedar", "ws-b.cedar", "ws-c.cedar"]) writeFileSync(at(name), text);
    for (const name of ["ws-large.cedar", "ws-other.cedar"]) {
      writeFileSync(at(name), "");
      truncateSync(at(name), 1024 * 1024);
    }
    linkSync(at("ws-large.cedar"), at("ws-larger.cedar"));
    const { files, unreadable } = read(["ws-*.cedar", "ws-**.cedar"]);
    expect(files).toEqual(["operator/a.cedar", "ws-a.cedar", "ws-b.cedar"]);
    expect(unreadable.map(({ path }) => path)).toEqual([
      "ws-c.cedar",
      "ws-large.cedar",
      "ws-larger.cedar",
      "ws-other.cedar",
    ]);
    for (const one of unreadable)
      expect(one).toMatchObject({ isOperators: false, reason: expect.stringContaining("8 KiB") });
    // What is trusted takes no room, as long as it is what was trusted.
    const trusting = (trusted: string) =>
      read(["ws-*.cedar"], { trustAt: () => (found) => found === trusted });
    expect(trusting(text).files).toHaveLength(4);
    expect(trusting("another").files).toHaveLength(3);
  });

  it("take up one amount of work, beyond which one problem is reported, and the operator's are read", () => {
    const { read } = standWith({
      "operator/a.cedar": "1",
      ...numbered(300, (at) => `ws/f${at}`),
      ...numbered(250, (at) => `many/f${at}.cedar`),
    });
    const patterns = Array.from({ length: 500 }, (_, at) => `ws/*q${at}.cedar`);
    expect(read(patterns)).toEqual({
      files: ["operator/a.cedar"],
      unreadable: [
        { path: "ws/*q16.cedar", reason: expect.stringContaining("too many files"), isOperators: false },
      ],
    });
    const many = read(["many/*.cedar", "many/**.cedar"], { maxUntrustedBytes: 0 });
    expect(many.files).toHaveLength(201);
    expect(many.unreadable).toEqual([
      {
        path: expect.stringContaining("many/"),
        reason: expect.stringContaining("more than 200"),
        isOperators: false,
      },
    ]);
  });

  it("leave each pattern of the operator's its own limits", () => {
    const { at, read } = standWith({
      ...numbered(150, (one) => `operator/a${one}.cedar`),
      ...numbered(150, (one) => `operator/b${one}.cedar`),
    });
    const operators = ["operator/a*.cedar", "operator/b*.cedar"].map(at);
    expect(read([], { operators })).toMatchObject({ files: { length: 300 }, unreadable: [] });
    expect(read([]).unreadable).toEqual([expect.objectContaining({ isOperators: true })]);
  });
});
