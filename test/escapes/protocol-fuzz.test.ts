import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWorkspace, rounds, type Server, type Workspace } from "../workspace.ts";

/**
 * One line for the server, short enough to read when a failure shrinks to it: `"<id>"` stands for a fresh id, and
 * `"<arrays 500>"` and the like for what they say. `owes` is how many answers each of its ids must get.
 */
interface Line {
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

const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

type Era = "2025-11-25" | "2026-07-28";

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

const lines = (era: Era): fc.Arbitrary<Line> => {
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

/** Every id of a plain line is the same id, except in a batch, where each member has its own. */
const encode = ({ kind, text, raw }: Line): Sent => {
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

const start = async (workspace: Workspace, era: Era): Promise<Server> => {
  const server = await workspace.serve({
    args: ["--mode", "classic", "--set", "mcp.logging.level=error"],
    // Memory that is not given back would end the process here.
    env: { NODE_OPTIONS: "--max-old-space-size=160" },
    handshake: era === "2025-11-25",
  });
  if (era === "2026-07-28") {
    await server.request("server/discover", { _meta: MODERN_META });
    await server.request("tools/list", { _meta: MODERN_META });
  }
  return server;
};

/** Sends the lines in pieces that do not end where the lines end, then checks every promise. */
const check = async (
  server: Server,
  given: readonly Line[],
  pieces: readonly number[],
  era: Era,
): Promise<void> => {
  const sent = given.map((one) => ({ ...one, ...encode(one) }));
  let rest = Buffer.concat(sent.map(({ bytes }) => bytes));
  for (const size of pieces) {
    server.write(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  server.write(rest);

  const alive = await server.request(
    "tools/call",
    {
      name: "read_file",
      arguments: { path: "a.txt" },
      ...(era === "2026-07-28" ? { _meta: MODERN_META } : {}),
    },
    10_000,
  );
  expect(alive.result?.["content"]).toEqual([{ type: "text", text: "hello" }]);
  for (const { kind, text, ids, owes } of sent) {
    const what = `${kind}: ${text.slice(0, 300)}`;
    for (const id of owes === "one" ? ids : []) await server.answer(id, 3000).catch(() => {});
    for (const id of ids) {
      const count = server.answersTo(id).length;
      if (owes === "one") expect(count, what).toBe(1);
      else expect(count, what).toBeLessThanOrEqual(owes === "none" ? 0 : 1);
    }
  }
  expect(server.strays).toEqual([]);
};

describe.each<Era>(["2025-11-25", "2026-07-28"])("FAIL-D2 frames of %s", (era) => {
  test(
    "no frame ends the server, confuses the stream or leaves a request unanswered",
    async () => {
      await using workspace = await createWorkspace({ "a.txt": "hello" });
      let server = await start(workspace, era);
      const first = fresh;
      const property = fc
        .asyncProperty(
          fc.array(lines(era), { minLength: 1, maxLength: 20, size: "max" }),
          fc.array(fc.nat(500), { maxLength: 4 }),
          (given, pieces) => check(server, given, pieces, era),
        )
        .beforeEach(async () => {
          // Only after a failure: what it shrinks to is tried on a server that is well.
          if (server.hasExited) server = await start(workspace, era);
        });
      await fc.assert(property, {
        numRuns: rounds(140, 1400),
        interruptAfterTimeLimit: rounds(60_000, 300_000),
        markInterruptAsFailure: true,
      });
      expect(fresh - first).toBeGreaterThan(rounds(1000, 10_000));
      // Answers to one id that came late would show here.
      for (let n = first; n < fresh; n++)
        expect(server.answersTo(`f${n}`).length, `f${n}`).toBeLessThanOrEqual(1);
      expect(await server.residentBytes()).toBeLessThan(500_000_000);
    },
    rounds(90_000, 400_000),
  );
});

describe("FAIL-D2 many frames at once", () => {
  test("10,000 good requests in one write are all answered, calls perhaps as busy", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.serve({ args: ["--mode", "classic"] });
    const frames = Array.from({ length: 10_000 }, (_, i) =>
      i % 2 === 0
        ? { jsonrpc: "2.0", id: `g${i}`, method: "ping" }
        : { jsonrpc: "2.0", id: `g${i}`, method: "tools/call", params: { name: "health", arguments: {} } },
    );
    server.write(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""));
    await server.until(() => frames.every(({ id }) => server.answersTo(id).length === 1), "10,000 answers");
    for (const { id, method } of frames) {
      const { result } = await server.answer(id);
      expect(result, id).toBeDefined();
      if (result?.["isError"] === true) expect(JSON.stringify(result), method).toContain('\\"busy\\"');
    }
    expect(server.strays).toEqual([]);
    expect(server.stderr).not.toContain("Warning");
  });

  test("a client that sends without reading stops the input, and loses nothing", async () => {
    await using workspace = await createWorkspace({ "a.txt": "x".repeat(60_000) });
    const server = await workspace.serve({ args: ["--set", "mcp.limits.max_queued_requests=10000"] });
    server.process.stdout.pause();
    const ids = Array.from({ length: 1000 }, () => server.askTool("read_file", { path: "a.txt" }));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await server.residentBytes()).toBeLessThan(400_000_000);
    server.process.stdout.resume();
    await server.until(() => ids.every((id) => server.answersTo(id).length === 1), "1,000 answers");
    expect(server.strays).toEqual([]);
    expect(server.stderr).not.toContain("Warning");
  });
});
