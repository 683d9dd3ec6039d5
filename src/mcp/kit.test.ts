import { describe, expect, test } from "vitest";
import { validateArguments } from "../core/validate.ts";
import { jsonSchema } from "./kit.ts";

const text = { type: "string" };
const nested = { type: "object", properties: { x: text }, required: ["x"], additionalProperties: false };

describe("REQ-X9 REQ-T13: a hand-written JSON Schema", () => {
  test.each([
    [{ properties: { text: { type: "strng" } } }, /^the schema of text: no such type: strng \(.*string/],
    [
      { properties: { ok: text, outer: { type: "object", properties: { "a.b": { minimum: "x" } } } } },
      /^the schema of outer\.a\.b: minimum must be a number/,
    ],
    [{ properties: { list: { type: "array", items: { pattern: "(" } } } }, /^the schema of list: .*regular/],
    [{ required: "text" }, /^the schema: required must be an array/],
  ])("that is wrong is refused with the name of the property: %j", (schema, message) => {
    expect(() => jsonSchema({ type: "object", ...schema })).toThrow(message);
  });

  test("says of arguments which one is wrong", async () => {
    const schema = jsonSchema({
      type: "object",
      properties: { text, "a/b": { type: "integer" }, nested },
      required: ["text"],
      additionalProperties: false,
    });
    const messageFor = (args: unknown): Promise<string> =>
      validateArguments(schema, args).then(
        () => "valid",
        (thrown: Error) => thrown.message,
      );
    expect(await messageFor({ text: "a" })).toBe("valid");
    expect(await messageFor({})).toBe("Invalid arguments: text: required.");
    expect(await messageFor({ text: 1 })).toBe("Invalid arguments: text: must be string.");
    expect(await messageFor({ text: "a", "a/b": "x" })).toBe("Invalid arguments: a/b: must be integer.");
    expect(await messageFor({ text: "a", nested: {} })).toBe("Invalid arguments: nested.x: required.");
    expect(await messageFor({ text: "a", txet: 1 })).toBe('Invalid arguments: Unrecognized key: "txet".');
    expect(await messageFor({ text: "a", nested: { x: "y", z: 1 } })).toBe(
      "Invalid arguments: nested: must not have other keys than those it names.",
    );
  });
});
