import fc from "fast-check";
import { MODERN_META } from "../server.ts";

/**
 * One line for the server, short enough to read when a failure shrinks to it: `"<id>"` stands for a fresh id, and
 * `"<arrays 500>"` and the like for what they say. `owes` is how many answers each of its ids must get.
 */
export interface Line {
  readonly kind: string;
  readonly text: string;
  readonly owes: "one" | "none" | "at most one";
  /** Bytes that are no UTF-8, put in the place of `<raw>`. */
  readonly raw?: readonly number[];
}

interface Sent {
  readonly bytes: Buffer;
  readonly ids: readonly string[];
}

export type Era = "2025-11-25" | "2026-07-28";

const METHODS = [
  "ping",
  "initialize",
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "notifications/cancelled",
  "rpc.discover",
  "__proto__",
  "constructor",
  "",
];

const TOOLS = ["read_file", "list_dir", "stat", "health", "00_INIT", "no_such_tool", "__proto__", "toString"];

/** JSON text of a request whose members come in any order. */
const requestText = (members: Readonly<Record<string, string>>, order: readonly number[]): string => {
  const entries = Object.entries(members);
  const sorted = entries
    .map((entry, i) => ({ entry, key: order[i] ?? 0 }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ entry: [name, value] }) => `${JSON.stringify(name)}:${value}`);
  return `{${sorted.join(",")}}`;
};

const order = fc.array(fc.nat(9), { minLength: 4, maxLength: 4 });
const json = fc.jsonValue({ maxDepth: 3 });

const toolParams = fc.record(
  {
    name: fc.oneof(fc.constantFrom(...TOOLS), fc.string(), json),
    arguments: fc.oneof(
      json,
      fc.record(
        {
          path: fc.oneof(fc.constantFrom("a.txt", ".", "missing", "/etc/passwd"), fc.string(), json),
          limit: json,
          offset: json,
        },
        { requiredKeys: [] },
      ),
    ),
    _meta: fc.oneof(fc.record({ progressToken: json, traceparent: json }, { requiredKeys: [] }), json),
  },
  { requiredKeys: ["name"] },
);

const params = (era: Era): fc.Arbitrary<string> =>
  fc.oneof(
    json.map((value) => JSON.stringify(value)),
    fc
      .oneof(
        toolParams,
        fc.record({ uri: json, ref: json, name: json, level: json, requestId: json }, { requiredKeys: [] }),
      )
      .map((value) => JSON.stringify(era === "2026-07-28" ? { _meta: MODERN_META, ...value } : value)),
  );

const line =
  (kind: string, owes: Line["owes"]) =>
  (text: string): Line => ({ kind, text, owes });

/** A request with something in its parameters that the server refuses; the id may stand anywhere. */
const refusedWith = (kind: string, poison: fc.Arbitrary<string>): fc.Arbitrary<Line> =>
  fc
    .tuple(poison, order)
    .map(([value, at]) =>
      requestText(
        { jsonrpc: '"2.0"', id: '"<id>"', method: '"tools/call"', params: `{"name":${value}}` },
        at,
      ),
    )
    .map(line(kind, "one"));

const LONG: Readonly<Record<string, (count: number) => string>> = {
  arrays: (depth) => `${"[".repeat(depth)}1${"]".repeat(depth)}`,
  objects: (depth) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
  items: (count) => `[${"0,".repeat(count - 1)}0]`,
  digits: (count) => "9".repeat(count),
};

const long = (what: keyof typeof LONG, min: number, max: number): fc.Arbitrary<string> =>
  fc.integer({ min, max }).map((count) => `"<${what} ${count}>"`);

const expand = (text: string): string =>
  text.replaceAll(
    /"<([a-z]+) (\d+)>"/g,
    (written, what: string, count: string) => LONG[what]?.(Number(count)) ?? written,
  );

/** Any line that a broken, careless or hostile client may send. */
export const lines = (era: Era): fc.Arbitrary<Line> => {
  const request = fc
    .tuple(fc.oneof(fc.constantFrom(...METHODS), fc.string()), params(era), order)
    .map(([method, given, at]) =>
      requestText({ jsonrpc: '"2.0"', id: '"<id>"', method: JSON.stringify(method), params: given }, at),
    );
  return fc.oneof(
    { weight: 8, arbitrary: request.map(line("request", "one")) },
    {
      weight: 1,
      arbitrary: request
        .map((text) => text.replaceAll('"jsonrpc":"2.0"', '"jsonrpc":"1.0"'))
        .map(line("version", "one")),
    },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(
          "null",
          "true",
          "{}",
          "[]",
          "1.5",
          "-0",
          "1e999",
          "123456789012345678901234567890",
          '""',
          '"\\ud800"',
        )
        .map((id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
        .map(line("odd id", "at most one")),
    },
    refusedWith("depth", fc.oneof(long("arrays", 31, 3000), long("objects", 31, 3000))),
    refusedWith("long array", long("items", 10_001, 10_050)),
    refusedWith("twice", fc.constantFrom('{"k":1,"k":2}', '{"k":1,"\\u006b":2}', '"x","name":"y"')),
    refusedWith(
      "prototype",
      fc.constantFrom('{"__proto__":{"x":1}}', '{"\\u005f_proto__":1}', '{"constructor":{"prototype":1}}'),
    ),
    refusedWith("number", fc.oneof(fc.constantFrom("1e999", "-1e999", "1e-999"), long("digits", 300, 500))),
    refusedWith(
      "surrogate",
      fc.constantFrom('"\\ud800"', '"a\\udc00b"', '{"\\udfff":1}', '"\\ud83d\\ude00"'),
    ),
    fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 4 }), order).map(
      ([bytes, at]): Line => ({
        kind: "utf-8",
        text: requestText({ jsonrpc: '"2.0"', id: '"<id>"', method: '"ping"', params: '{"x":"<raw>"}' }, at),
        owes: "one",
        // From 0x80 on, and thus neither a quote nor a backslash nor a newline.
        raw: [...bytes].map((byte) => byte | 0x80),
      }),
    ),
    fc
      .tuple(request, fc.nat(200), request)
      .map(([half, cut, whole]) => half.slice(0, cut) + whole)
      .map(line("glued", "at most one")),
    fc
      .tuple(fc.array(request, { minLength: 1, maxLength: 4 }), fc.array(json, { maxLength: 2 }))
      .map(([good, junk]) => `[${[...good, ...junk.map((value) => JSON.stringify(value))].join(",")}]`)
      .map(line("batch", "one")),
    fc
      .tuple(fc.constantFrom("result", "error"), json)
      .map(([member, value]) => `{"jsonrpc":"2.0","id":"<id>","${member}":${JSON.stringify(value)}}`)
      .map(line("response", "none")),
    fc
      .tuple(fc.oneof(fc.constantFrom(...METHODS), fc.string()), json)
      .map(([method, given]) => JSON.stringify({ jsonrpc: "2.0", method, params: given }))
      .map(line("notification", "none")),
    request
      .map(
        (text) =>
          `${text}\n{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"<id>"}}`,
      )
      .map(line("cancelled", "at most one")),
    fc
      .constantFrom("", " ", "\r", "\t\t", "\ufeff", "null", "true", "[]", "{}", '"', "{", "[[[[", "\0")
      .map(line("scrap", "none")),
    fc
      .constantFrom(
        '\ufeff{"jsonrpc":"2.0","id":"<id>","method":"ping"}',
        '  {"jsonrpc":"2.0","id":"<id>","method":"ping"}\r',
      )
      .map(line("padded", "one")),
    json.map((value) => JSON.stringify(value)).map(line("json", "none")),
    fc.string({ unit: "binary", maxLength: 60 }).map(line("text", "at most one")),
  );
};

let fresh = 0;

/** How many ids were given out so far. */
export const idsGiven = (): number => fresh;

/** Every id of a plain line is the same id, except in a batch, where each member has its own. */
export const encode = ({ kind, text, raw }: Line): Sent => {
  const ids: string[] = [];
  const next = (): string => {
    ids.push(`f${fresh++}`);
    return ids.at(-1) ?? "";
  };
  const only = kind === "batch" ? undefined : next();
  const filled = expand(text).replaceAll('"<id>"', () => `"${only ?? next()}"`);
  const [before = "", ...after] = raw === undefined ? [filled] : filled.split("<raw>");
  const bytes = Buffer.concat([
    Buffer.from(before),
    ...after.flatMap((part) => [Buffer.from(raw ?? []), Buffer.from(part)]),
    Buffer.from("\n"),
  ]);
  return { bytes, ids };
};
