import { describe, expect, test } from "vitest";
import { MAX_FILES, MAX_RESULT_DEPTH } from "./guest/bounds.ts";
import { readMessage, readReady } from "./guest-frames.ts";
import { MAX_RESULT_VALUES, TOO_COMPLEX } from "./result-bounds.ts";

const LIMITS = {
  timeoutMs: 1000,
  cpuMs: 1000,
  maxOutputBytes: 100,
  maxResultBytes: 10_000,
  maxFileBytes: 1000,
  maxToolCalls: 10,
  maxCallBytes: 100,
};

const DONE = { type: "done", files: [], outputCut: false, filesCut: false };
const read = (message: unknown) => readMessage(JSON.stringify(message), LIMITS);
const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const file = (name: string, text: string) => ({ name, base64: Buffer.from(text).toString("base64") });

test("REQ-E3 FAIL-G2: a result has a bounded number of values, whatever its bytes", () => {
  const limits = { ...LIMITS, maxResultBytes: 4_000_000 };
  const withValues = (count: number): string =>
    JSON.stringify({ ...DONE, result: JSON.stringify(Array(count).fill(0)) });
  expect(readMessage(withValues(MAX_RESULT_VALUES - 2), limits)).toMatchObject({ type: "done" });
  const tooMany = readMessage(withValues(MAX_RESULT_VALUES + 1), limits);
  expect(tooMany).toMatchObject({ type: "done", error: TOO_COMPLEX });
  expect(tooMany).not.toHaveProperty("result");
  const tooDeep = JSON.stringify({ ...DONE, result: nested(MAX_RESULT_DEPTH + 1) });
  expect(readMessage(tooDeep, limits)).toMatchObject({ error: TOO_COMPLEX });
  const commas = JSON.stringify({ ...DONE, result: JSON.stringify(",[".repeat(300_000)) });
  expect(readMessage(commas, limits)).toMatchObject({ type: "done" });
});

test("REQ-E3 FAIL-G2: a frame of many values is refused before any of them is built", () => {
  for (const text of [
    `[${"{},".repeat(1000)}{}]`,
    `{"type":"done","files":[${"[],".repeat(1000)}[]]}`,
    nested(10),
    // Not even JSON: it is counted, not parsed.
    "{},".repeat(1000),
  ])
    expect(() => readMessage(text, LIMITS)).toThrow("its fields");
  const files = Array.from({ length: MAX_FILES }, (_, at) => file(`f${at}`, "x"));
  const full = { ...DONE, result: "1", error: { name: "E", message: "m", line: 1, column: 1 }, files };
  expect(read(full)).toMatchObject({ type: "done" });
});

describe("REQ-E3 FAIL-G2: what a guest sends is bounded where it is read", () => {
  test.each([
    ["no object", 1],
    ["an unknown type", { type: "constructor" }],
    ["a second start", { type: "ready" }],
    [
      "the name of a tool that is longer than any",
      { type: "call", call: 1, name: "y".repeat(201), args: "{}" },
    ],
    ["large arguments", { type: "call", call: 1, name: "stat", args: "x".repeat(101) }],
    ["a call beside much else", { type: "call", call: 1, name: "stat", args: "{}", more: "x".repeat(5000) }],
    ["a call without a number", { type: "call", call: "1", name: "stat", args: "{}" }],
    ["output that costs nothing", { type: "output", text: "" }],
    ["large output", { type: "output", text: "é".repeat(51) }],
    ["too many files", { ...DONE, files: Array.from({ length: MAX_FILES + 1 }, () => file("n", "")) }],
    ["a file with a long name", { ...DONE, files: [file("n".repeat(201), "")] }],
    [
      "files that are too large together",
      { ...DONE, files: [file("a", "x".repeat(600)), file("b", "x".repeat(600))] },
    ],
    ["a file without bytes", { ...DONE, files: [{ name: "a" }] }],
    ["a file that is no Base64", { ...DONE, files: [{ name: "a", base64: "\u0000" }] }],
    ["a result that is no JSON", { ...DONE, result: "{" }],
    ["a large result", { ...DONE, result: `"${"x".repeat(10_000)}"` }],
  ])("%s is refused", (_what, message) => {
    expect(() => read(message)).toThrow(/not a message|JSON/);
  });

  test("what an honest guest sends is read, without fields that nobody knows", () => {
    const call = { type: "call", call: 1, name: "stat", args: '{"path":"a"}' };
    expect(read({ ...call, more: 1 })).toEqual(call);
    expect(read({ type: "output", text: "\u0001".repeat(100) })).toMatchObject({ text: expect.any(String) });
    const result = nested(MAX_RESULT_DEPTH);
    expect(read({ ...DONE, result, files: [file("a", "x")] })).toMatchObject({
      result,
      files: [file("a", "x")],
    });
    expect(read({ ...DONE, result: JSON.stringify('"[['.repeat(500)) })).toMatchObject({ error: undefined });
  });

  test("an error is texts and numbers, whatever was sent", () => {
    const error = { name: {}, message: ["x"], code: "c".repeat(1e4), line: "1", column: 2, retryable: 1 };
    expect(read({ ...DONE, error })).toMatchObject({
      error: { name: "Error", message: "", code: "c".repeat(100), column: 2 },
    });
    expect(read({ ...DONE, error: { name: "E", message: "m".repeat(1e5) } })).toMatchObject({
      error: { message: "m".repeat(4000) },
    });
  });

  test("before its first program, a guest says that it is ready and nothing else", () => {
    readReady('{"type": "ready"}');
    for (const text of ['{"type":"output","text":"x"}', `{"type":"ready","x":"${"x".repeat(5000)}"}`, "[]"])
      expect(() => readReady(text)).toThrow("not a message");
  });
});
