import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFrameReader, type Frame, refuseShape } from "./frames.ts";

const LIMIT = 8192;

/** Pushes the bytes in pieces of these sizes, the last one repeated, and ends the stream. */
const read = (bytes: Buffer, sizes: readonly number[] = [bytes.length], limit = LIMIT): readonly Frame[] => {
  const frames: Frame[] = [];
  const reader = createFrameReader(
    () => limit,
    (frame) => frames.push(frame),
  );
  let rest = bytes;
  for (let i = 0; rest.length > 0; i++) {
    const size = Math.max(1, sizes[Math.min(i, sizes.length - 1)] ?? rest.length);
    reader.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  reader.end();
  return frames;
};

const one = (line: string | Buffer): Frame => {
  const [frame, ...others] = read(Buffer.from(line));
  expect(others).toEqual([]);
  if (frame === undefined) throw new Error("no frame");
  return frame;
};

const idsOf = (line: string | Buffer): readonly unknown[] => {
  const frame = one(line);
  if (frame.kind !== "refused") throw new Error("it was accepted");
  return frame.ids;
};

describe("lines", () => {
  test("each is a frame; blank ones are none; the last needs no newline", () => {
    expect(read(Buffer.from('{"a":1}\n\n  \r\n[]x\n{"b":2}'))).toMatchObject([
      { kind: "message", value: { a: 1 } },
      { kind: "refused", code: -32700 },
      { kind: "message", value: { b: 2 } },
    ]);
  });

  test("a carriage return, a byte order mark and spaces do not matter", () => {
    expect(one('\ufeff {"a":"é"} \r')).toEqual({ kind: "message", value: { a: "é" } });
  });

  test("however the stream is cut, the frames are the same", () => {
    const text = '{"a":"é€😀"}\n{"jsonrpc":"2.0","id":1\n[1,2]\n\n{"b":[{}]}\nnull\n"last"';
    const whole = read(Buffer.from(text));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
        expect(read(Buffer.from(text), sizes)).toEqual(whole);
      }),
    );
  });
});

describe("FAIL-D2 whom a refused frame is answered to", () => {
  const DEEP = "[".repeat(40) + "]".repeat(40);

  test.each([
    ["the id first", `{"jsonrpc":"2.0","id":7,"method":"x","params":${DEEP}}`, [7]],
    ["the id last", `{"jsonrpc":"2.0","method":"x","params":${DEEP},"id":"seven"}`, ["seven"]],
    ["the id between", `{"params":${DEEP},"id":-7,"x":{"id":8},"method":"x"}`, [-7]],
    ["an id of many scripts", `{"id":"é€😀","method":"x","params":${DEEP}}`, ["é€😀"]],
    ["an escaped id", `{"id":"a\\"\\u00e9","method":"x","params":${DEEP}}`, ['a"é']],
    ["no id", `{"method":"x","params":${DEEP}}`, [null]],
    ["a nested id only", `{"method":"x","params":{"id":5,"x":${DEEP}}}`, [null]],
    ["an id that is no id", `{"id":{"id":5},"method":"x","params":${DEEP}}`, [null]],
    ["an id out of range", '{"id":1e999,"method":"x"}', [null]],
    ["a response", `{"jsonrpc":"2.0","id":7,"result":${DEEP}}`, []],
    ["an error response", `{"jsonrpc":"2.0","id":7,"error":${DEEP}}`, []],
    ["text", "hello", [null]],
    ["half a request", '{"jsonrpc":"2.0","id":7,"method":"too', [7]],
    ["half a request that nests", '{"jsonrpc":"2.0","method":"x","params":{"id":7', [null]],
    [
      "a batch",
      '[{"id":1,"method":"x"},{"method":"y"},{"id":"2","method":"z"},5,{"id":3,"result":1}]',
      [1, "2"],
    ],
    ["a batch of nobody", '[{"method":"x"}]', [null]],
    ["an empty batch", "[]", [null]],
  ])("%s", (_title, line, ids) => {
    expect(idsOf(line)).toEqual(ids);
  });

  test("bytes that are no UTF-8 do not hide the id", () => {
    const line = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":7,"params":"'),
      Buffer.of(0xff),
      Buffer.from('"}'),
    ]);
    expect(idsOf(line)).toEqual([7]);
  });

  test("JSON that is no JSON-RPC: its id, except for a response", () => {
    expect(refuseShape({ id: 1.5, method: 5 }).ids).toEqual([1.5]);
    expect(refuseShape({ id: 1, result: 5 }).ids).toEqual([]);
    expect(refuseShape(null).ids).toEqual([null]);
    expect(refuseShape("x").ids).toEqual([null]);
  });
});

describe("FAIL-D9 lines over the limit", () => {
  const FILL = "a".repeat(LIMIT);

  test.each([
    ["the id first", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"${FILL}"}}`, [7]],
    ["the id last", `{"params":{"a":"${FILL}","id":8},"jsonrpc":"2.0","id":"é","method":"x"}`, ["é"]],
    ["a nested id last", `{"method":"x","params":{"a":"${FILL}","id":8}}`, [null]],
    ["a key that ends like an id", `{"method":"x","params":"${FILL}","x\\"id":8}`, [null]],
    ["a response", `{"jsonrpc":"2.0","id":7,"result":{"a":"${FILL}"}}`, []],
    ["a response, the id last", `{"result":{"a":"${FILL}"},"id":7,"jsonrpc":"2.0"}`, []],
    ["text", FILL.repeat(3), [null]],
  ])("%s", (_title, line, ids) => {
    expect(idsOf(line)).toEqual(ids);
  });

  test("say the size and the limit, and the next line starts clean", () => {
    const line = `{"id":1,"x":"${FILL}"}`;
    expect(read(Buffer.from(`${line}\n{"a":1}\n`), [100])).toEqual([
      {
        kind: "refused",
        code: -32600,
        reason: `The message has ${line.length} bytes; the limit is ${LIMIT} (mcp.limits.max_frame_bytes).`,
        ids: [1],
      },
      { kind: "message", value: { a: 1 } },
    ]);
  });

  test("the limit itself is within", () => {
    const exact = `"${"a".repeat(LIMIT - 2)}"`;
    expect(one(exact).kind).toBe("message");
    expect(one(`${exact.slice(0, -1)}a"`).kind).toBe("refused");
  });
});
