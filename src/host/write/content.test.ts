import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rounds } from "../../../test/rounds.ts";
import { LlmcError } from "../../base/error.ts";
import { sniff } from "../read/text-slice.ts";
import { decodeText, encodeText, parseExpectation } from "./content.ts";

const bytes = (...values: number[]): Buffer => Buffer.from(values);
const TEXT = "eins\r\nzwei 💡\nkein Ende";

const FORMS = [
  ["utf-8", Buffer.from(TEXT)],
  ["utf-8 with BOM", Buffer.concat([bytes(0xef, 0xbb, 0xbf), Buffer.from(TEXT)])],
  ["utf-16le", Buffer.concat([bytes(0xff, 0xfe), Buffer.from(TEXT, "utf16le")])],
  ["utf-16be", Buffer.concat([bytes(0xfe, 0xff), Buffer.from(TEXT, "utf16le").swap16()])],
] as const;

describe("FAIL-A14 text of a file", () => {
  it.each(FORMS)("in %s comes without BOM and goes back byte for byte", (form, file) => {
    const decoded = decodeText(file, "x");
    expect(decoded).toEqual({ text: TEXT, form });
    expect(encodeText(decoded)).toEqual(file);
  });

  it.each([
    ["bytes that are no UTF-8", bytes(0x61, 0xff, 0x62)],
    ["Latin-1", bytes(0x67, 0x72, 0xfc, 0x6e)],
    ["half a character of UTF-16", bytes(0xff, 0xfe, 0x00, 0xd8)],
    ["an odd byte at the end of UTF-16", bytes(0xff, 0xfe, 0x61, 0x00, 0x62)],
    ["NUL bytes", bytes(0x61, 0x00, 0x62)],
    ["UTF-32", bytes(0xff, 0xfe, 0x00, 0x00, 0x61, 0x00, 0x00, 0x00)],
  ])("is refused for %s", (_what, file) => {
    expect(() => decodeText(file, "x")).toThrow(expect.objectContaining({ code: "invalid_args" }));
  });

  it("keeps a second byte order mark, which is a character by then", () => {
    const file = Buffer.from("\uFEFF\uFEFFx");
    expect(decodeText(file, "x").text).toBe("\uFEFFx");
    expect(encodeText(decodeText(file, "x"))).toEqual(file);
  });

  it("survives the way there and back for every text and every bytes that are text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.constantFrom(...FORMS), (text, [form]) => {
        const file = encodeText({ text, form });
        // A text can look like another form, or like none.
        return sniff(file) !== form || decodeText(file, "x").text === text;
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (raw) => {
        const file = Buffer.from(raw);
        try {
          return encodeText(decodeText(file, "x")).equals(file);
        } catch (error) {
          return error instanceof LlmcError && error.code === "invalid_args";
        }
      }),
      { numRuns: rounds(400, 2000) },
    );
  });

  it("is refused with half a character in it, which no file could hold", () => {
    expect(() => encodeText({ text: "a\ud800b", form: "utf-8" })).toThrow(
      expect.objectContaining({ code: "invalid_args" }),
    );
  });
});

describe("REQ-D6 the expected hash", () => {
  it("may be whole or its first digits, in either case", () => {
    expect(parseExpectation(undefined)).toBeUndefined();
    expect(parseExpectation("ABCDEF012345")).toBe("abcdef012345");
    expect(parseExpectation("a".repeat(64))).toBe("a".repeat(64));
  });

  it.each(["", "abc", "a".repeat(11), "a".repeat(65), "g".repeat(64), " aaaaaaaaaaaa"])(
    "is refused as %j",
    (bad) => {
      expect(() => parseExpectation(bad)).toThrow(expect.objectContaining({ code: "invalid_args" }));
    },
  );
});
