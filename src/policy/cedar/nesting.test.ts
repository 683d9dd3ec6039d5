import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { rounds } from "../../../test/rounds.ts";
import { loadCedar } from "../../host/os/bundled-files.ts";
import { compilePolicies } from "./engine.ts";
import { createInstance } from "./instance.ts";
import type { PolicyRequest } from "./model.ts";
import { findTooDeep } from "./nesting.ts";
import type { Cedar, PolicyFile } from "./policy-file.ts";

const ACTION = { name: "do_read", groups: ["read"], about: ["Workspace", "File"] } as const;

const REQUEST: PolicyRequest = {
  principal: { id: "local", scopes: ["read"], transport: "stdio", agent: "claude", session: "s" },
  action: ACTION,
  resource: { type: "Workspace", id: "w" },
  context: { mode: "hybrid", profile: "", air_gapped: false, granted: false },
};

const load = () => loadCedar() as Cedar;

const compile = (...files: readonly PolicyFile[]) =>
  compilePolicies(load, { actions: [ACTION], files, defaultDeny: true });

const mine = (text: string): PolicyFile => ({ name: "my.cedar", text, mayPermit: true });

const when = (expression: string): string => `forbid(principal, action, resource) when { ${expression} };`;

const NO = 'principal.scopes.contains("no")';

/** Each of them so many times within itself or after the other. */
const DEEP: readonly (readonly [string, (times: number) => string])[] = [
  ["parentheses", (n) => when(`${"(".repeat(n)}${NO}${")".repeat(n)}`)],
  ["sets", (n) => when(`${"[".repeat(n)}1${"]".repeat(n)}.isEmpty()`)],
  ["records", (n) => when(`${"{a:".repeat(n)}1${"}".repeat(n)} == 1`)],
  ["negations", (n) => when(`${"!(".repeat(n)}${NO}${")".repeat(n)}`)],
  ["calls", (n) => when(`${"principal.scopes.contains(".repeat(n)}1${")".repeat(n)}`)],
  ["calls in a row", (n) => when(`principal.scopes${'.contains("no")'.repeat(n)}`)],
  ["members", (n) => when(`context${".a".repeat(n)} == 1`)],
  ["members by text", (n) => when(`context${'["a"]'.repeat(n)} == 1`)],
  ["members behind comments", (n) => when(`context${'// "\r.a'.repeat(n)} == 1`)],
  ["members behind strings", (n) => when(`context${'["\\\r"].a'.repeat(n)} == 1`)],
  ["sums", (n) => when(`1${" + 1".repeat(n)} == 1`)],
  ["products", (n) => when(`1${" * 1".repeat(n)} == 1`)],
  ["and", (n) => when(`${NO}${` && ${NO}`.repeat(n)}`)],
  ["or", (n) => when(`${NO}${` || ${NO}`.repeat(n)}`)],
  ["if in conditions", (n) => when(`${"if ".repeat(n)}true${" then true else true".repeat(n)}`)],
  ["if after else", (n) => when(`${"if false then true else ".repeat(n)}true`)],
  ["clauses", (n) => `forbid(principal, action, resource) ${"unless { false } ".repeat(n)};`],
];

/** One more level around an expression, or one more operator beside it. */
const AROUND: readonly ((inner: string) => string)[] = [
  (inner) => `(${inner})`,
  (inner) => `!(${inner})`,
  (inner) => `[${inner}].contains(true)`,
  (inner) => `{a: ${inner}}.a`,
  (inner) => `${inner} && true`,
  (inner) => `${inner} || ${NO}`,
  (inner) => `if ${inner} then true else false`,
  (inner) => `if ${NO} then true else ${inner}`,
  (inner) => `1 + (if ${inner} then 1 else 2) == 1`,
];

/** What went wrong in Cedar itself with a text that was let through. */
const trapOf = (text: string): string => {
  const result = compile(mine(text));
  const messages = result.ok
    ? [result.compiled.decide(REQUEST).failure ?? ""]
    : result.problems.map(({ message }) => message);
  return messages.filter((one) => /cannot process|memory|stack|unreachable/.test(one)).join("; ");
};

describe("FAIL-A10 FAIL-H5: how deep a policy may be", () => {
  test.each(DEEP)("%s: the deepest that are let through are compiled and decided on", (_what, text) => {
    let limit = 1;
    while (findTooDeep(text(limit + 1)) === undefined) limit++;
    expect(limit).toBeGreaterThan(20);
    expect(limit).toBeLessThan(250);
    expect(trapOf(text(limit))).toBe("");
    const beyond = compile(mine(`\n${text(limit + 1)}`));
    expect(beyond).toMatchObject({
      problems: [{ file: "my.cedar", message: expect.stringContaining("nested too deeply") }],
    });
    expect(beyond.ok ? 0 : beyond.problems[0]?.line).toBeGreaterThan(1);
  });

  it("so are those of every mixture", () => {
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.constantFrom(...AROUND)).map((stream) => {
          let text = NO;
          for (const around of stream) {
            if (findTooDeep(when(around(text))) !== undefined) break;
            text = around(text);
          }
          return when(text);
        }),
        (text) => {
          expect(trapOf(text)).toBe("");
        },
      ),
      { numRuns: rounds(10, 200) },
    );
  });

  it("many policies, and long lists, are not deep", () => {
    const hosts = Array.from({ length: 5000 }, (_, at) => `"h${at}"`).join(", ");
    const text = `${when(NO)}\n`.repeat(5000) + when(`[${hosts}].contains(context.mode)`);
    expect(findTooDeep(text)).toBeUndefined();
  });

  test.each(['"', '"\\', '"\\\n', "(", "()", ",", "when{"])(
    "a file of nothing but %j is measured in one pass",
    // Read again from every quote, it would take minutes.
    (part) => void findTooDeep(part.repeat(1024 * 1024)),
  );
});

/** What no file is let through with. */
const TRAP = when(`${"(".repeat(3000)}true${")".repeat(3000)}`);

describe("FAIL-H5: what Cedar throws", () => {
  it("ends the instance in which it was thrown, and the next one is prepared as it was", () => {
    const instance = createInstance(load);
    const parse = (text: string) => instance.run((cedar) => cedar.policySetTextToParts(text).type);
    let prepared = 0;
    instance.prepare(() => prepared++);
    expect(parse(when(NO))).toBe("success");
    expect(() => parse(TRAP)).toThrow();
    expect(prepared).toBe(1);
    expect(parse(when(NO))).toBe("success");
    expect(prepared).toBe(2);
  });

  it("leaves other instances as they were", () => {
    const [one, other] = [createInstance(load), createInstance(load)];
    const parse = (text: string) => (cedar: Cedar) => cedar.policySetTextToParts(text).type;
    expect(one.run(parse(when(NO)))).toBe("success");
    expect(() => other.run(parse(TRAP))).toThrow();
    expect(one.run(parse(when(NO)))).toBe("success");
  });

  it("denies what was to be decided, and the next request is decided on", () => {
    const result = compile(mine('forbid(principal, action, resource == File::"/b");'));
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    const { decide } = result.compiled;
    // Its folders are found by a function that calls itself.
    const endless = { ...REQUEST, resource: { type: "File" as const, id: "/a".repeat(100_000) } };
    expect(decide(endless)).toMatchObject({ allowed: false, failure: expect.stringContaining("stack") });
    expect(decide(REQUEST)).toEqual({ allowed: true, policies: ["llmc.workspace"] });
  });
});
