import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AirGapped, enterAirGap } from "../../src/host/air-gap/enter-air-gap.ts";
import { openPort } from "../../src/host/air-gap/open-port.ts";
import { openRelay, type Relay } from "../../src/host/air-gap/relay.ts";

const BYTES = 3_000_000;

const listen = async (server: Server, target: object): Promise<number> => {
  await once(server.listen(target), "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
};

const close: (() => void)[] = [];
let gap: AirGapped;
let relay: Relay;
let port: number;
let early: Promise<string>;
let results: Record<string, unknown>;
const arrived: string[] = [];

beforeAll(async () => {
  const machine = createServer(() => arrived.push("tcp"));
  const tcp = await listen(machine, { host: "127.0.0.1", port: 0 });
  const datagrams = createSocket("udp4", () => arrived.push("udp"));
  datagrams.bind(0, "127.0.0.1");
  await once(datagrams, "listening");
  const abstract = `llmc-test-${process.pid}`;
  const hidden = createServer(() => arrived.push("abstract"));
  await listen(hidden, { path: `\0${abstract}` });
  const backend = createServer({ allowHalfOpen: true }, async (socket) => {
    socket.end(`got ${(await text(socket)).length}`);
  });
  const backendPort = await listen(backend, { host: "127.0.0.1", port: 0 });
  relay = await openRelay([{ host: "localhost", port: backendPort }]);
  const door = await openPort({ host: "127.0.0.1", port: 0, maxConnections: 10 }, relay.folder);
  ({ port } = door);
  const task = {
    tcp,
    udp: datagrams.address().port,
    abstract,
    pid: process.pid,
    folder: relay.folder,
    backend: { host: "localhost", port: backendPort },
    bytes: BYTES,
    opened: { descriptor: 3, port, secret: door.secret },
  };
  gap = await enterAirGap({
    argv: [process.execPath, join(import.meta.dirname, "air-gap-inside.ts"), JSON.stringify(task)],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    stdio: ["pipe", "pipe", "inherit", door.descriptor],
  });
  door.closeInner();
  // Before the server inside takes any: the queue keeps it.
  early = text(createConnection(port, "127.0.0.1").end());
  close.push(
    () => door.close(),
    () => machine.close(),
    () => datagrams.close(),
    () => hidden.close(),
    () => backend.close(),
    () => relay.close(),
  );
  let output = "";
  for await (const part of gap.child.stdout as Readable) {
    output += part;
    if (output.endsWith("}")) break;
  }
  results = JSON.parse(output) as Record<string, unknown>;
});

afterAll(async () => {
  (gap.child.stdin as Writable).write("end");
  expect(await gap.gone).toEqual({ code: 0, signal: null });
  for (const one of close) one();
});

it.each([
  ["TCP to a server on the machine", "tcpToTheMachine", "ECONNREFUSED"],
  ["TCP to another machine", "tcpElsewhere", "ENETUNREACH"],
  ["TCP over IPv6", "tcp6Elsewhere", "ENETUNREACH"],
  ["a datagram to another machine", "udpElsewhere", "ENETUNREACH"],
  ["an abstract socket of the machine", "abstractSocket", "ECONNREFUSED"],
  ["a request by fetch", "fetch", "ENETUNREACH"],
  ["the network of another process", "networkOfAnother", "EACCES"],
  ["the network of the first process", "networkOfTheFirst", "EACCES"],
])("REQ-I10 in the air gap, %s ends with the kernel's answer (%s: %s)", (_, attempt, answer) => {
  expect(results[attempt]).toBe(answer);
});

it("REQ-I10 no name is resolved, by the machine's resolver or by one of its own", () => {
  expect(results["name"]).toMatch(/^(EAI_AGAIN|ENOTFOUND)$/);
  expect(results["nameByItsOwnResolver"]).toMatch(/^(ECONNREFUSED|ETIMEOUT|ENOTFOUND)$/);
});

it("REQ-I10 nothing arrives outside, a datagram to the same address included", () => {
  expect(results["udpToTheMachine"]).toBe("allowed: sent");
  expect(arrived).toEqual([]);
});

it("REQ-I10 it knows that it is in an air gap, and the sockets of the machine's services are not there", () => {
  expect(results["isAirGapped"]).toBe(true);
  expect(results["services"]).toEqual([]);
});

it("REQ-I10 a configured backend is reached at its own address, through the relay, megabytes and half-closed", () => {
  expect(results["backend"]).toBe(`allowed: got ${BYTES}`);
});

it("REQ-I10 a port that was opened before is served, and the client's address is known inside", async () => {
  const client = createConnection(port, "127.0.0.1").end();
  await once(client, "connect");
  const { localPort } = client;
  expect(await text(client)).toBe(`from the air gap to 127.0.0.1:${localPort}`);
  expect(await early).toContain("from the air gap to 127.0.0.1:");
});

it("REQ-I10 megabytes pass through the port unchanged, and each direction ends by itself", async () => {
  const client = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
  const sent = randomBytes(BYTES);
  client.end(sent);
  const got = await buffer(client);
  expect(got.subarray(got.indexOf("\n") + 1).equals(sent)).toBe(true);
});

it("REQ-I10 FAIL-E1 a header without the secret of the start is not believed", async () => {
  for (const header of [`${"x".repeat(43)} 203.0.113.9 1\n`, `${"A".repeat(400)}`]) {
    const forger = createConnection(join(relay.folder, "http.sock"));
    forger.write(header);
    expect(await text(forger)).toBe("");
  }
});

it("REQ-I10 a socket of the machine's network is never handed inside", async () => {
  const server = createServer();
  await listen(server, { host: "127.0.0.1", port: 0 });
  const { fd } = Reflect.get(server, "_handle") as { fd: number };
  const started = enterAirGap({ argv: ["/bin/true"], env: {}, cwd: "/", stdio: ["ignore", fd, "ignore"] });
  await expect(started).rejects.toMatchObject({ code: "unavailable" });
  server.close();
});

it("REQ-I10 no descriptor inside belongs to the machine's network, and root has not become another user", () => {
  expect(results["inherited"]).toEqual([]);
  // EINVAL where only one user is mapped.
  expect(results["anotherUser"]).toMatch(/^(?:EPERM|EINVAL)$/);
});

it("REQ-I10 there are no sockets but those that a network namespace holds, by whichever call they are made", () => {
  expect(results["families"]).toEqual(["allowed", "allowed", "allowed", "allowed"]);
  expect(results["otherFamilies"]).toEqual(Array(8).fill("EAFNOSUPPORT"));
  expect(results["pairs"]).toEqual(["allowed", "EAFNOSUPPORT"]);
  expect(results["queue"]).toBe("ENOSYS");
});

it("REQ-I10 nothing can be typed into a terminal outside", () => {
  expect(results["typing"]).toEqual(["EPERM", "EPERM"]);
  expect(results["typingByHighBits"]).toBe("EPERM");
});

it("REQ-I10 the kernel's devices are read-only, and control groups are not", () => {
  expect(results["devices"]).toMatch(/^(?:EROFS|ENOENT|EACCES)$/);
  const groups = existsSync("/sys/fs/cgroup") ? ["", ...readdirSync("/sys/fs/cgroup")] : [];
  const outside = groups.map((name) => {
    try {
      accessSync(`/sys/fs/cgroup/${name}`, constants.W_OK);
      return "allowed";
    } catch (thrown) {
      return String((thrown as NodeJS.ErrnoException).code);
    }
  });
  expect(results["controlGroups"]).toEqual(outside);
});

it("REQ-I10 the front can be confined inside", () => {
  expect(results["sandboxInside"]).toBe("allowed: bubblewrap");
});

it.each([
  "192.0.2.1",
  "example.com",
  "127.0.0.1.example.com",
  "0.0.0.0",
  "::ffff:192.0.2.1",
  "localhost.example",
])("REQ-I10 no relay is opened to %s", async (host) => {
  await expect(openRelay([{ host, port: 80 }])).rejects.toMatchObject({ code: "egress_denied" });
});

it("REQ-I10 without bubblewrap it refuses to start, and says what to install", async () => {
  const started = enterAirGap(
    { argv: ["/bin/true"], env: {}, cwd: "/", stdio: ["ignore", "ignore", "ignore"] },
    "/usr/bin/no-such-bwrap",
  );
  await expect(started).rejects.toMatchObject({
    code: "unavailable",
    hint: expect.stringContaining("Install bubblewrap"),
  });
});
