/** Runs in an air gap and tries to get out; prints what each attempt came to. */
import { createSocket } from "node:dgram";
import { lookup, Resolver } from "node:dns/promises";
import { accessSync, constants, existsSync, openSync, readdirSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { constants as osConstants } from "node:os";
import { text } from "node:stream/consumers";
import koffi from "koffi";
import { acceptPassedOn } from "../../src/host/air-gap/accept-passed-on.ts";
import { forwardBackends } from "../../src/host/air-gap/forward.ts";
import { isAirGapped } from "../../src/host/air-gap/is-air-gapped.ts";
import type { OpenedPort } from "../../src/host/air-gap/opened-outside.ts";
import { confinement } from "../../src/host/confine/confinement.ts";
import { isInetSocket } from "../../src/host/net/socket-family.ts";

interface Task {
  /** Ports of the machine's own loopback, outside. */
  readonly tcp: number;
  readonly udp: number;
  readonly abstract: string;
  /** A process outside, of the same user. */
  readonly pid: number;
  /** A backend that is relayed. */
  readonly folder: string;
  readonly backend: { readonly host: string; readonly port: number };
  readonly bytes: number;
  readonly opened: OpenedPort;
}

const task = JSON.parse(process.argv[2] ?? "{}") as Task;
/** Of a network that is kept for documentation; nobody is there. */
const ELSEWHERE = "192.0.2.1";

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error ? String(Reflect.get(thrown, "code") ?? thrown.message) : String(thrown);

const attempt = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    return `allowed: ${await work()}`;
  } catch (thrown) {
    return codeOf(thrown);
  }
};

const connect = (options: { host?: string; port?: number; path?: string }): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = createConnection({ ...options, timeout: 3000 } as { port: number });
    socket.once("connect", () => socket.destroy() && resolve("connected"));
    socket.once("error", reject);
    socket.once("timeout", () => reject(new Error("timeout")));
  });

const send = (address: string, port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.send("x", port, address, (thrown) => {
      socket.close();
      if (thrown) reject(thrown);
      else resolve("sent");
    });
  });

const throughBackend = async (): Promise<string> => {
  const forwarder = await forwardBackends(task.folder, [task.backend]);
  const socket = createConnection({ ...task.backend, allowHalfOpen: true });
  socket.end(Buffer.alloc(task.bytes, "a"));
  const answer = await text(socket);
  forwarder.close();
  return answer;
};

/** Echoes, after a line that names the client. */
const inherited = createServer({ allowHalfOpen: true }, (socket) => {
  socket.write(`from the air gap to ${socket.remoteAddress}:${socket.remotePort}`);
  socket.once("data", (part: Buffer) => {
    socket.write("\n");
    socket.write(part);
    socket.pipe(socket);
  });
  socket.once("end", () => socket.end());
});

/** Sockets of the machine's network among the descriptors, at the start: nothing was opened by this program yet. */
const families = readdirSync("/proc/self/fd")
  .map(Number)
  .filter((fd) => {
    try {
      return isInetSocket(fd);
    } catch {
      return false;
    }
  });
await acceptPassedOn(inherited, task.opened);

const libc = koffi.load(null);
const openFamily = libc.func("int socket(int, int, int)");
const openPair = libc.func("int socketpair(int, int, int, _Out_ int *)");
const control = libc.func("ioctl", "int", ["int", "unsigned long", "void *"]);
const systemCall = libc.func("syscall", "long", ["long", "long", "void *"]);
const errnoName = (): string => {
  const code = koffi.errno();
  return Object.entries(osConstants.errno).find(([, value]) => value === code)?.[0] ?? String(code);
};
const family = (number: number): string =>
  openFamily(number, 1, 0) < 0 && openFamily(number, 2, 0) < 0 ? errnoName() : "allowed";

/** What the kernel says of changing each. */
const controlGroups = (): readonly string[] =>
  (existsSync("/sys/fs/cgroup") ? ["", ...readdirSync("/sys/fs/cgroup")] : []).map((name) => {
    try {
      accessSync(`/sys/fs/cgroup/${name}`, constants.W_OK);
      return "allowed";
    } catch (thrown) {
      return codeOf(thrown);
    }
  });

const results = {
  // AF_UNIX, IPv4, IPv6 and netlink; then VSOCK, ALG, PACKET, KEY, TIPC, BLUETOOTH, CAN and one that is not there yet.
  families: [1, 2, 10, 16].map(family),
  otherFamilies: [40, 38, 17, 15, 30, 31, 29, 63].map(family),
  pairs: [1, 30].map((number) => (openPair(number, 1, 0, [0, 0]) < 0 ? errnoName() : "allowed")),
  typing: [0x5412, 0x541c].map((request) =>
    control(0, request, Buffer.from("x")) < 0 ? errnoName() : "allowed",
  ),
  // By the high bits the kernel does not know it from the plain one.
  typingByHighBits: control(0, 0x1_0000_5412, Buffer.from("x")) < 0 ? errnoName() : "allowed",
  queue: systemCall(425, 1, Buffer.alloc(120)) < 0 ? errnoName() : "allowed",
  devices: await attempt(async () => openSync("/sys/kernel/uevent_helper", "w")),
  controlGroups: controlGroups(),
  isAirGapped: isAirGapped(),
  tcpToTheMachine: await attempt(() => connect({ host: "127.0.0.1", port: task.tcp })),
  tcpElsewhere: await attempt(() => connect({ host: ELSEWHERE, port: 80 })),
  tcp6Elsewhere: await attempt(() => connect({ host: "2001:db8::1", port: 80 })),
  udpElsewhere: await attempt(() => send(ELSEWHERE, 53)),
  // On its own loopback a datagram may be sent; nobody outside gets it.
  udpToTheMachine: await attempt(() => send("127.0.0.1", task.udp)),
  abstractSocket: await attempt(() => connect({ path: `\0${task.abstract}` })),
  name: await attempt(() => lookup("example.com")),
  nameByItsOwnResolver: await attempt(() => {
    const resolver = new Resolver({ timeout: 1000, tries: 1 });
    resolver.setServers([ELSEWHERE]);
    return resolver.resolve4("example.com");
  }),
  fetch: await attempt(async () =>
    fetch(`http://${ELSEWHERE}/`).catch((thrown: Error) => {
      throw thrown.cause;
    }),
  ),
  networkOfAnother: await attempt(async () => openSync(`/proc/${task.pid}/ns/net`, "r")),
  networkOfTheFirst: await attempt(async () => openSync("/proc/1/ns/net", "r")),
  // As root: another user has processes outside whose sockets it could take.
  anotherUser: await attempt(async () => process.setuid?.(65_533)),
  inherited: families,
  services: readdirSync("/run"),
  backend: await attempt(throughBackend),
  sandboxInside: await attempt(async () => (await confinement({ memoryMb: 512, cpuShare: 0.5 })).tier),
};
process.stdout.write(JSON.stringify(results));
process.stdin.once("data", () => inherited.close(() => process.exit(0)));
