/**
 * Takes the place of `src/front.ts` in an installation: what a front of the HTTP door does that somebody has taken over. It
 * does what clients ask of it by `POST /`, with connections that the core has opened to it.
 */
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createConnection, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

interface Attack {
  readonly name: string;
  readonly bytes?: string;
  readonly path?: string;
  readonly port?: number;
}

const QUIET_MS = 1500;

const connections: Socket[] = [];
const isAdded: (() => void)[] = [];
const acceptCore = (): void => {
  createServer((socket) => {
    // The token of the core.
    socket.once("data", () => {
      connections.push(socket);
      for (const done of isAdded.splice(0)) done();
    });
    socket.on("error", () => {});
  }).listen({ fd: 3 });
};

const take = async (): Promise<Socket | undefined> => {
  for (;;) {
    const socket = connections.shift();
    if (socket !== undefined) return socket;
    const added = new Promise<boolean>((done) => isAdded.push(() => done(true)));
    const isGivenUp = new Promise<boolean>((done) => setTimeout(() => done(false), QUIET_MS));
    if (!(await Promise.race([added, isGivenUp]))) return undefined;
  }
};

/** Sends bytes to the core as they are, and gives what comes back until it says nothing more. */
const send = async (bytes: string): Promise<string> => {
  const socket = await take();
  if (socket === undefined) return "no connection";
  let got = "";
  return new Promise((resolve) => {
    const done = (): void => {
      socket.destroy();
      resolve(got);
    };
    let timer = setTimeout(done, QUIET_MS);
    socket.setEncoding("latin1").on("data", (part: string) => {
      got += part;
      clearTimeout(timer);
      timer = setTimeout(done, QUIET_MS / 5);
    });
    socket.once("close", done);
    socket.write(bytes, "latin1");
  });
};

/** Takes every connection that the core offers, uses it, and gives none back. */
const hoard = async (): Promise<number> => {
  const held: Socket[] = [];
  for (let socket = await take(); socket !== undefined; socket = await take()) {
    held.push(socket);
    socket.write("GET /health HTTP/1.1\r\nhost: localhost\r\nllmc-peer: 1.2.3.4\r\n\r\n");
  }
  for (const socket of held) socket.destroy();
  return held.length;
};

const codeOf = (work: () => unknown): string => {
  try {
    work();
    return "allowed";
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
};

const connect = (...address: [string] | [number, string]): Promise<string> =>
  new Promise((done) => {
    Reflect.apply(createConnection, undefined, address)
      .on("connect", () => done("connected"))
      .on("error", ({ code }: NodeJS.ErrnoException) => done(String(code)));
  });

const ATTACKS: Readonly<Record<string, (attack: Attack) => unknown>> = {
  read: ({ path = "" }) => codeOf(() => readFileSync(path)),
  connect: ({ path, port }) => (path === undefined ? connect(port ?? 0, "127.0.0.1") : connect(path)),
  send: ({ bytes = "" }) => send(bytes),
  hoard,
  /** Nothing of this concerns it, or is a record at all. */
  confuse: () => {
    for (const record of ["A 1 {}", "M {}", "D 1e999 x", "Z NaN", "K 1", `V ${"9".repeat(1000)}`, "V x"])
      process.stdout.write(`${record}\n`);
    return "confused";
  },
  break: () => void process.stdout.write("? what\n"),
};

const serveClients = (): void => {
  createHttpServer(async (request, response) => {
    const attack = JSON.parse(await text(request)) as Attack;
    response.end(JSON.stringify((await ATTACKS[attack.name]?.(attack)) ?? null));
  }).listen({ fd: 4 });
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const [kind] = line.split(" ");
  if (kind === "I") {
    acceptCore();
    serveClients();
  } else if (kind === "P") process.stdout.write("O 1\nH\n");
  else if (kind === "E") process.exit(0);
});
