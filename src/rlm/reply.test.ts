import { beforeAll, describe, expect, test } from "vitest";
import { cpuMs } from "../../test/cpu-ms.ts";
import { judgeAnswer } from "./answers.ts";
import { checkValue } from "./check-value.ts";
import { Context } from "./context.ts";
import { offsetsOf } from "./offsets.ts";
import { readReply } from "./reply.ts";
import { headAndTail } from "./shown-text.ts";

const fenced = (tag: string, code: string): string => `\`\`\`${tag}\n${code}\n\`\`\``;

describe("what a reply asks for", () => {
  test.each([
    ["a block", fenced("js", "f()"), { kind: "code", code: "f()" }],
    [
      "its long name, with prose around it",
      `so:\n${fenced("JavaScript", "f()")}\ndone`,
      { kind: "code", code: "f()" },
    ],
    ["tildes", "~~~js\nf()\n~~~", { kind: "code", code: "f()" }],
    ["lines of Windows", "```js\r\nf()\r\n```\r\n", { kind: "code", code: "f()" }],
    ["a fence in a template", "````js\nprint(`\n```\n`)\n````", { kind: "code", code: "print(`\n```\n`)" }],
    ["data besides", `${fenced("json", "{}")}\n${fenced("js", "f()")}`, { kind: "code", code: "f()" }],
    ["prose", "The answer is 42. FINAL(42)", { kind: "no_code" }],
    ["a block without a tag", fenced("", "f()"), { kind: "no_code" }],
    ["an empty block", fenced("js", "  "), { kind: "no_code" }],
    ["two blocks", `${fenced("js", "1")}\n${fenced("js", "2")}`, { kind: "two_programs" }],
    ["one of each language", `${fenced("js", "1")}\n${fenced("python", "2")}`, { kind: "two_programs" }],
    ["the other language", fenced("python", "1"), { kind: "other_language" }],
    ["half a block", "```js\nf(", { kind: "cut_off" }],
    ["a program of 100 kB", fenced("js", "x".repeat(100_000)), { kind: "too_long" }],
  ])("FAIL-G3: %s", (_, text, expected) => {
    expect(readReply(text, "javascript")).toEqual(expected);
  });

  test("FAIL-G3: a megabyte of fences takes no time", () => {
    const read = (): void => {
      expect(readReply("```js\n".repeat(200_000), "javascript")).toEqual({ kind: "cut_off" });
      for (const filling of [" ", "\t", "`", "~", "a", "-"])
        expect(readReply(`\`\`\`${filling.repeat(1_000_000)}!`, "javascript")).toEqual({ kind: "no_code" });
    };
    expect(cpuMs(read)).toBeLessThan(2000);
  });
});

describe("answers", () => {
  let context: Context;
  beforeAll(async () => {
    context = await Context.of("one\ntwo\nthree", {}, undefined);
  });
  test("REQ-L3 FAIL-G3: evidence is of whole characters, so that its text is in the context", async () => {
    const emoji = "\u{1F600}";
    const text = `a${emoji}b${"c".repeat(996)}${emoji}d`;
    const astral = await Context.of(text, {}, undefined);
    const textFor = async (start: number, end: number): Promise<string | undefined> => {
      const judged = await judgeAnswer({ value: "x", evidence: { start, end } }, astral, undefined);
      return "evidence" in judged ? judged.evidence[0]?.text : undefined;
    };
    expect(await textFor(2, 3)).toBe(emoji);
    expect(await textFor(1, 2)).toBe(emoji);
    expect(text).toContain(await textFor(1, text.length));
    expect(text).toContain(await textFor(3, text.length));
  });

  test("REQ-L3: text is an answer, anything else needs a schema; nothing, empty text and false evidence are none", async () => {
    const judge = (value: unknown, evidence?: unknown) =>
      judgeAnswer({ value, evidence }, context, undefined);
    expect(await judge("42")).toMatchObject({ text: "42", evidence: [] });
    for (const value of [42, false, { a: 1 }, ["x"]]) expect(await judge(value)).toHaveProperty("problem");
    const bySchema = (value: unknown, type: string) =>
      judgeAnswer({ value, evidence: undefined }, context, { type });
    expect(await bySchema(42, "integer")).toMatchObject({ text: "42", value: 42, evidence: [] });
    expect(await bySchema(false, "boolean")).toMatchObject({ text: "false" });
    expect(await bySchema({ a: 1 }, "object")).toMatchObject({ text: '{\n "a": 1\n}' });
    expect(await judge("x", ["two"])).toMatchObject({
      evidence: [{ start: 4, end: 7, line: 2, text: "two" }],
    });
    for (const value of [null, undefined, "", " \n"]) expect(await judge(value)).toHaveProperty("problem");
    for (const evidence of [
      ["four"],
      [""],
      [{ start: 0, end: 99 }],
      [{ start: 5, end: 5 }],
      [{ start: -1, end: 2 }],
      [7],
    ])
      expect(await judge("x", evidence)).toHaveProperty("problem");
    expect(await judge("x".repeat(100_001))).toHaveProperty("problem");
  });

  test("REQ-L3 FAIL-D6: long quotes in a long text are looked for in slices, up to the first that is not there", async () => {
    const large = await Context.of(`${"a".repeat(8_000_000)}needle`, {}, undefined);
    const quote = `${"a".repeat(1000)}needle`;
    expect(await judgeAnswer({ value: "x", evidence: quote }, large, undefined)).toMatchObject({
      evidence: [{ start: 7_999_000, end: 8_000_006 }],
    });
    let turns = 0;
    const beside = setInterval(() => turns++, 1);
    const missing = Array.from({ length: 50 }, () => `${"a".repeat(1000)}b`);
    expect(await judgeAnswer({ value: "x", evidence: missing }, large, undefined)).toHaveProperty("problem");
    clearInterval(beside);
    expect(turns).toBeGreaterThan(0);
    const stopped = AbortSignal.abort(new Error("enough"));
    await expect(judgeAnswer({ value: "x", evidence: missing }, large, undefined, stopped)).rejects.toThrow(
      "enough",
    );
  });

  test("REQ-L3: a schema is enforced", () => {
    const schema = {
      type: "object",
      required: ["names"],
      additionalProperties: false,
      properties: { names: { type: "array", items: { type: "string" } }, kind: { enum: ["a", "b"] } },
    };
    expect(checkValue({ names: ["x"], kind: "a" }, schema)).toBeUndefined();
    expect(checkValue({}, schema)).toContain("names is missing");
    expect(checkValue({ names: [1] }, schema)).toContain("names[0]");
    expect(checkValue({ names: [], kind: "c" }, schema)).toContain("kind");
    expect(checkValue({ names: [], more: 1 }, schema)).toContain("more is not expected");
    expect(checkValue("x", schema)).toContain("type object");
  });
});

test("positions of Python count characters, and come back the same", async () => {
  const text = `${"😀a".repeat(50_000)}end`;
  const offsets = await offsetsOf(await Context.of(text, {}, undefined), "python");
  const span = { start: text.indexOf("end"), end: text.length };
  expect(offsets.toGuest(span)).toEqual({ start: 100_000, end: 100_003 });
  expect(offsets.fromGuest(offsets.toGuest(span))).toEqual(span);
  const same = await offsetsOf(await Context.of(text, {}, undefined), "javascript");
  expect(same.toGuest(span)).toEqual(span);
});

test("a long output is shown by its beginning and its end", () => {
  expect(headAndTail("short")).toBe("short");
  const shown = headAndTail(`begin${"x".repeat(100_000)}end`);
  expect(shown.startsWith("begin") && shown.endsWith("end")).toBe(true);
  expect(shown).toContain("of 100008 characters left out");
  expect(shown.length).toBeLessThan(8200);
});
