import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createPostgresRateLimiter } from "../../host/net/postgres-rate-limiter.ts";
import { createRedisRateLimiter } from "../../host/net/redis-rate-limiter.ts";
import { createMemoryRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { createSharedRateLimiter } from "./shared-rate-limiter.ts";

const now = () => performance.now();
const LIMIT = { perSecond: 1, burst: 2 };

interface Fake {
  readonly url: string;
  /** How often it was asked for something. */
  asked(): number;
  /** Connections that are open now. */
  open(): number;
}

const serve = async (
  scheme: string,
  onData: (socket: Socket, bytes: Buffer, ask: () => void) => void,
): Promise<Fake> => {
  let asked = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("data", (bytes) => onData(socket, bytes, () => asked++));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return { url: `${scheme}://127.0.0.1:${port}`, asked: () => asked, open: () => sockets.size };
};

/** A server that answers every command in the same way, or not at all. */
const fakeRedis = (answer: string | undefined): Promise<Fake> =>
  serve("redis", (socket, bytes, ask) => {
    // Several commands may come together; each wants its answer.
    for (const [, command = ""] of String(bytes).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
      if (command === "info") socket.write("$9\r\nloading:0\r\n");
      else if (command !== "eval") socket.write("+OK\r\n");
      else {
        ask();
        if (answer !== undefined) socket.write(answer);
      }
    }
  });

/** A message of PostgreSQL's protocol: its letter, its length, its content. */
const message = (letter: string, content: Buffer | string): Buffer => {
  const body = Buffer.from(content);
  const head = Buffer.alloc(5, letter);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};

const READY = message("Z", "I");
const failure = (code: string): Buffer => message("E", `SERROR\0C${code}\0Mno\0\0`);
/** One row of one column, as text (type 25). */
const table = (column: string, text: string): Buffer => {
  const type = Buffer.alloc(18);
  type.writeInt32BE(25, 6);
  const head = Buffer.alloc(6);
  head.writeInt16BE(1, 0);
  head.writeInt32BE(text.length, 2);
  return Buffer.concat([
    message("T", Buffer.concat([Buffer.from(`\0\x01${column}\0`), type])),
    message("D", Buffer.concat([head, Buffer.from(text)])),
    message("C", "INSERT 0 1\0"),
    READY,
  ]);
};
const SET = message("C", "SET\0");
const answerOf = (text: string): Buffer => Buffer.concat([SET, SET, table("wait_ms", text)]);

/** Lets everybody in and answers every query in the same way, or not at all. */
const fakePostgres = (
  answer: Buffer | undefined,
  welcome: Buffer = Buffer.concat([message("R", "\0\0\0\0"), READY]),
) =>
  serve("postgres", (socket, bytes, ask) => {
    // Only the message that opens a connection has no letter.
    if (bytes[0] === 0) socket.write(welcome);
    else if (bytes.includes("INSERT")) {
      ask();
      if (answer !== undefined) socket.write(answer);
    } else if (bytes.includes("schema")) socket.write(table("schema", "public"));
    else if (answer !== undefined) socket.write(Buffer.concat([SET, READY]));
  });

const nobody = (scheme: string) => async (): Promise<Fake> => ({
  url: `${scheme}://127.0.0.1:1`,
  asked: () => 0,
  open: () => 0,
});

const openShared = (url: string) => {
  const errors: unknown[] = [];
  const create = url.startsWith("redis") ? createRedisRateLimiter : createPostgresRateLimiter;
  const shared: RateLimiter = create(url, () => {});
  const store = createSharedRateLimiter(shared, createMemoryRateLimiter(now), now, (error) =>
    errors.push(error),
  );
  onTestFinished(() => store.close());
  return { store, shared, errors };
};

describe("REQ-H3: buckets that several machines share", () => {
  test.each([
    ["Redis", () => fakeRedis("$7\r\n123.456\r\n")],
    ["PostgreSQL", () => fakePostgres(answerOf("123.456"))],
  ])("the shared store's word counts: %s", async (_name, open) => {
    const { url, asked } = await open();
    const { store, shared } = openShared(url);
    await expect.poll(async () => shared.consume("a", LIMIT)).toBeDefined();
    expect(await store.consume("a", LIMIT)).toEqual({ allowed: false, retryAfterMs: 123.456 });
    expect(asked()).toBeGreaterThan(0);
  });

  test.each([
    ["Redis", "is not there", nobody("redis")],
    ["Redis", "never answers", () => fakeRedis(undefined)],
    ["Redis", "answers nonsense", () => fakeRedis("$5\r\nhello\r\n")],
    ["Redis", "answers with an error", () => fakeRedis("-ERR unknown command\r\n")],
    ["PostgreSQL", "is not there", nobody("postgres")],
    ["PostgreSQL", "never lets in", () => fakePostgres(undefined, Buffer.alloc(0))],
    ["PostgreSQL", "has no connection left", () => fakePostgres(undefined, failure("53300"))],
    [
      "PostgreSQL",
      "is something else",
      () => fakePostgres(undefined, Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")),
    ],
    ["PostgreSQL", "never answers", () => fakePostgres(undefined)],
    ["PostgreSQL", "answers nonsense", () => fakePostgres(answerOf("hello"))],
    ["PostgreSQL", "answers nothing", () => fakePostgres(Buffer.concat([SET, READY]))],
    ["PostgreSQL", "answers with an error", () => fakePostgres(Buffer.concat([failure("25006"), READY]))],
    [
      "PostgreSQL",
      "has no table and may make none",
      () => fakePostgres(Buffer.concat([failure("42P01"), READY])),
    ],
  ])(
    "while %s %s, this machine limits by itself, and asks again only after a rest",
    async (name, _what, open) => {
      const { url, asked, open: connections } = await open();
      const { store, errors } = openShared(url);
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push((await store.consume("a", LIMIT)).allowed);
      expect(answers).toEqual([true, true, false, false]);
      expect(errors).toHaveLength(1);
      // Once more where the table was missing.
      expect(asked()).toBeLessThanOrEqual(name === "Redis" ? 1 : 2);
      expect(connections()).toBeLessThanOrEqual(4);
    },
  );
});
