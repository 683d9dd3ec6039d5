/** Takes the place of `src/front.ts` in an installation: what a front does that somebody has taken over. */
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createConnection, createServer, type NetConnectOpts, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";

interface Attack {
  readonly id: number | string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

let token = "";
const connections: Socket[] = [];
const isAdded: (() => void)[] = [];
const startAccepting = (): void => {
  createServer((socket) => {
    socket.once("data", () => {
      connections.push(socket);
      for (const done of isAdded.splice(0)) done();
    });
    socket.on("error", () => {});
  }).listen({ fd: 3 });
};

const take = async (): Promise<Socket> => {
  for (;;) {
    const socket = connections.shift();
    if (socket !== undefined) return socket;
    await new Promise<void>((done) => isAdded.push(done));
  }
};

const upgrade = async (schema = "1.0"): Promise<Duplex | number> => {
  const connection = await take();
  return new Promise((resolve) => {
    const headers = {
      "x-llmc-token": token,
      "x-llmc-schema": schema,
      connection: "Upgrade",
      upgrade: "llmc-link",
    };
    request({ createConnection: () => connection, path: "/v1/stream", headers })
      .on("upgrade", (_response, socket) => resolve(socket))
      .on("response", (response) => resolve(response.statusCode ?? 0))
      .on("error", () => resolve(-1))
      .end();
  });
};

/** Sends a body to the core as it is, and gives what comes back. */
const ask = async (body: string): Promise<string> => {
  const socket = await upgrade();
  if (typeof socket === "number") return `status ${socket}`;
  const head = Buffer.alloc(9);
  head.writeUInt32BE(Buffer.byteLength(body), 0);
  head.writeUInt32BE(1, 4);
  socket.write(Buffer.concat([head, Buffer.from(body)]));
  return new Promise((resolve) => {
    let got = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      got = Buffer.concat([got, chunk]);
      if (got.length < 9 || got.length < 9 + got.readUInt32BE(0)) return;
      resolve(got.toString("utf8", 9));
      socket.destroy();
    });
    socket.on("close", () => resolve("closed"));
  });
};

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return "allowed";
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
};

const connect = (to: NetConnectOpts): Promise<string> =>
  new Promise((done) => {
    createConnection(to)
      .on("connect", () => done("connected"))
      .on("error", ({ code }: NodeJS.ErrnoException) => done(String(code)));
  });

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const sendDatagram = (): Promise<string> =>
  new Promise((done) => {
    const socket = createSocket("udp4");
    socket.on("error", ({ code }: NodeJS.ErrnoException) => done(String(code)));
    socket.send("x", 53, "127.0.0.1", (error) =>
      done(String((error as NodeJS.ErrnoException | null)?.code ?? "sent")),
    );
  });

const start = (): Promise<string> =>
  new Promise((done) => {
    try {
      spawn("/bin/true")
        .on("error", ({ code }: NodeJS.ErrnoException) => done(String(code)))
        .on("spawn", () => done("started"));
    } catch (error) {
      done(String((error as NodeJS.ErrnoException).code));
    }
  });

/** A function of the C library, by what it leaves in errno. */
const systemCall = async (
  name: string,
  types: readonly string[],
  args: readonly unknown[],
): Promise<string> => {
  try {
    const { default: koffi } = await import("koffi");
    const call = koffi.load(null).func(name, "int64", [...types]) as (...all: unknown[]) => number;
    if (call(...args) !== -1) return "allowed";
    const number = koffi.errno();
    return Object.entries(koffi.os.errno).find(([, value]) => value === number)?.[0] ?? String(number);
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code ?? error);
  }
};

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const MIB = 1024 * 1024;

const ATTACKS: Readonly<Record<string, (attack: Attack, n: string) => unknown>> = {
  read: ({ params }) => codeOf(() => readFileSync(String(params["path"]))),
  connect: ({ params }) => connect(params as unknown as NetConnectOpts),
  write: ({ params }) => codeOf(() => writeFileSync(String(params["path"]), "x")),
  spawn: start,
  datagram: sendDatagram,
  ptrace: () => systemCall("ptrace", ["int64", "int64", "int64", "int64"], [16, 1, 0, 0]),
  netlink: () => systemCall("socket", ["int", "int", "int"], [AF_NETLINK, SOCK_RAW, 0]),
  mount: () => systemCall("mount", ["str", "str", "str", "int64", "int64"], ["none", "/tmp", "tmpfs", 0, 0]),
  /** Touched, so that it is there. */
  allocate: () => Array.from({ length: 600 }, () => Buffer.alloc(MIB, 1)).length,
  /** Of the processor, a share. */
  busy: ({ params }) => {
    const [since, until] = [process.cpuUsage(), performance.now() + Number(params["ms"])];
    const startedAt = performance.now();
    while (performance.now() < until);
    const { user, system } = process.cpuUsage(since);
    return (user + system) / 1000 / (performance.now() - startedAt);
  },
  ask: ({ params }) => ask(JSON.stringify(params["body"])),
  versions: () => Promise.all(["2.0", "1.9", "x"].map((schema) => upgrade(schema))),
  /** Takes every connection that the core offers, and gives back none. */
  hoard: async () => {
    let count = 0;
    for (;;) {
      const next = await Promise.race([upgrade(), new Promise((done) => setTimeout(done, 1000))]);
      if (next === undefined) return count;
      count++;
    }
  },
  /** More than the supervisor keeps for one line. */
  hold: (_, n) => {
    for (let i = 0; i < 300; i++) say(`G ${n} ${JSON.stringify("x".repeat(1_000_000))}`);
    return "held";
  },
  /** Nothing of this concerns it, or is a record at all. */
  confuse: (_, n) => {
    for (const text of [
      `A ${Number(n) + 1} {}`,
      "A -1 {}",
      "D 1e999 x",
      "Z NaN",
      "Q x",
      `V ${"9".repeat(1_000_000)}`,
    ])
      say(text);
    return "confused";
  },
  break: () => say("? what"),
};

const answer = async (n: string, text: string): Promise<void> => {
  const attack = JSON.parse(text) as Attack;
  const result = await ATTACKS[attack.method]?.(attack, n);
  say(`A ${n} ${JSON.stringify({ jsonrpc: "2.0", id: attack.id, result: { result: result ?? null } })}`);
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const [kind, n = "", ...rest] = line.split(" ");
  if (kind === "I") {
    ({ token } = JSON.parse(line.slice(2)) as { token: string });
    startAccepting();
  } else if (kind === "P") say("H");
  else if (kind === "L") void answer(n, rest.slice(2).join(" "));
  else if (kind === "X") say(`A ${n} ${JSON.stringify({ jsonrpc: "2.0", id: `refused ${n}`, result: {} })}`);
  else if (kind === "E") process.exit(0);
});
