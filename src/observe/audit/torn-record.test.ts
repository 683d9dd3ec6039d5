import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_RECORD_BYTES } from "./bounded.ts";
import { encodeRecord, type Link, type Sign, startOf } from "./chain.ts";
import { isTornRecord } from "./torn-record.ts";

const sign: Sign = (text) => createHmac("sha256", "key").update(text).digest("base64url");
const LINK: Link = { seq: 7, mac: "m".repeat(43) };
const CHAIN = "20261118t000000000z-1-0a0b0c0d";

const isTorn = (piece: string, bytes = Buffer.byteLength(piece)): boolean =>
  isTornRecord(sign, { piece, bytes }, CHAIN, LINK);

const lineOf = (fields: object): string => encodeRecord(sign, CHAIN, LINK, JSON.stringify(fields)).line;

const FIELDS = {
  time: "2026-11-18T00:00:00.000Z",
  kind: "call",
  decision: { allowed: true, policies: ['a"b\\,"mac":"', "é\u001b\u2028", "\ud800"] },
  exit: [],
  none: {},
  null: null,
  duration_ms: -1.25e-7,
  cut: false,
};

describe("REQ-O5 what a killed process can have left of a record", () => {
  it("is every beginning of one, its signature included", () => {
    const line = lineOf(FIELDS);
    for (let length = 0; length <= line.length; length++)
      expect(isTorn(line.slice(0, length)), line.slice(0, length)).toBe(true);
  });

  it("whatever its fields hold", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
        fc.nat(),
        (fields, at) => {
          const line = lineOf({ time: "t", ...fields });
          expect(isTorn(line.slice(0, at % (line.length + 1)))).toBe(true);
        },
      ),
    );
  });

  it("FAIL-J11 is judged however deep its brackets are", () => {
    const head = `${startOf(CHAIN, LINK)}"a":`;
    for (const [opening, closing] of [
      ["[", "]"],
      ['{"b":', "}"],
      ['[{"b":', "}]"],
    ] as const) {
      const times = Math.floor((MAX_RECORD_BYTES - 1000) / (opening + closing).length);
      const open = head + opening.repeat(times);
      const whole = `${open}1${closing.repeat(times)}`;
      for (const piece of [open, `${open}1`, whole, `${whole},`, `${whole},"c":tr`])
        expect(isTorn(piece)).toBe(true);
      for (const piece of [`${open}x`, `${open}}]`, `${whole}${closing}`, `${whole}1`, `${whole}}`])
        expect(isTorn(piece)).toBe(false);
    }
  });

  it("is nothing longer than a record, and nothing that no record has", () => {
    const line = lineOf(FIELDS);
    const at = line.indexOf(',"kind"');
    const head = line.slice(0, at);
    expect(isTorn(`${head},"x":"${"y".repeat(MAX_RECORD_BYTES)}`)).toBe(false);
    for (const forged of [
      "x",
      line.slice(1),
      lineOf(FIELDS).replace('"seq":8', '"seq":9'),
      `${head},"tool":"linux_fs_delete"xxxx`,
      `${head} ,"kind"`,
      `${head},"kind": "call"`,
      `${head}}`,
      `${head},"kind":"call"}`,
      `${head},"kind":call`,
      `${head},"kind":"a\u0000`,
      `${head},\u0000\u0000`,
      `${head},"mac":"${"A".repeat(43)}"}`,
      `${head},"mac":"AAAA`,
      `${head},"mac":"${sign(head)}"}}`,
      `${head},"mac":"${sign(head)}x`,
      `${line}{`,
      `${line}x`,
    ])
      expect(isTorn(forged), forged).toBe(false);
  });
});
