import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, it } from "vitest";
import { connectTo, listenForAnother } from "../net/link-sockets.ts";
import { holdPort } from "../net/passed-listener.ts";
import { startFront } from "./start-front.ts";

const folder = mkdtempSync(join(tmpdir(), "llmc-start-front-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Tries what a front that was taken over would try, and what it needs. */
const PROGRAM = `
import { createConnection, createServer } from "node:net";
import { createSocket } from "node:dgram";
const connect = (...address) => new Promise((done) => createConnection(...address)
  .on("connect", () => done("connected")).on("error", ({ code }) => done(code)));
const send = () => new Promise((done) => { try {
  createSocket("udp4").on("error", ({ code }) => done(code)).send("x", 9, "127.0.0.1", (e) => done(e?.code ?? "sent"));
} catch ({ code }) { done(code); } });
const accept = (fd) => new Promise((done) => createServer((socket) => { socket.end("hello"); done("accepted"); }).listen({ fd }));
const [path, port] = process.env.TARGETS.split(" ");
console.log([await connect(path), await connect(Number(port), "127.0.0.1"), await send()].join());
console.log(await accept(3));
console.log(await accept(4));
`;

it.each(["bubblewrap", "landlock"] as const)(
  "FAIL-H1 REQ-I1 in the real front under %s, to connect to another Unix socket, by TCP and by UDP is answered with EACCES; the core connects to it, and clients to the port that it inherits",
  async (tier) => {
    const path = join(folder, `other-${tier}.sock`);
    const [other, tcp] = [createServer().listen(path), createServer().listen(0, "127.0.0.1")];
    await Promise.all([once(other, "listening"), once(tcp, "listening")]);
    const address = tcp.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const program = join(folder, `${tier}.mjs`);
    writeFileSync(program, PROGRAM);
    const listener = await listenForAnother(join(folder, `link-${tier}.sock`));
    const clients = await holdPort({ host: "127.0.0.1", port: 0 });
    const front = await startFront({
      program,
      flags: [],
      env: { TARGETS: `${path} ${port}` },
      listeners: [listener.descriptor, clients.descriptor],
      memoryMb: 512,
      isRequired: true,
      tiers: [tier],
      onStderr: (text) => process.stderr.write(text),
    });
    listener.release();
    const output = text(front.output);
    expect(await text(connectTo(listener.path))).toBe("hello");
    // It waits in the kernel's queue until the front accepts.
    expect(await text(connect(clients.port, "127.0.0.1"))).toBe("hello");
    clients.close();
    front.kill();
    expect((await output).split("\n")).toEqual(["EACCES,EACCES,EACCES", "accepted", "accepted", ""]);
    expect(front.tier).toBe(tier);
    for (const server of [other, tcp]) server.close();
    listener.remove();
  },
);
