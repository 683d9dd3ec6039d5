import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createInstallation, type Installation } from "../installation.ts";
import type { ServerProcess } from "../server.ts";
import { coreOf } from "../server-parts.ts";
import { createWorkspace, type Workspace } from "../workspace.ts";

/** As a front sends it for line `n`. */
const call = (n: number, tool: string, args: object, origin: object = {}): object => ({
  n,
  round: 0,
  generation: 1,
  origin: {
    agentId: "a",
    sessionId: "s",
    model: "m",
    budgetProfile: "",
    correlationId: "12345678",
    route: null,
    traceparent: null,
    progress: false,
    asks: [],
    answers: null,
    state: null,
    ...origin,
  },
  work: { method: "call", tool, args },
});

describe("FAIL-H1 REQ-I1 a hostile program in the place of the front, under the real supervisor and core", () => {
  let installation: Installation;
  let workspace: Workspace;
  let server: ServerProcess;
  let lines = 1_000_000;

  beforeAll(async () => {
    installation = await createInstallation();
    await installation.write(
      "src/front.ts",
      await readFile(join(import.meta.dirname, "hostile-front-main.ts"), "utf8"),
    );
    workspace = await createWorkspace({ "a.txt": "hello\n", ".env": "SECRET=1\n" });
    server = await workspace.start({
      command: [installation.launcher],
      args: ["--set", "mcp.subprocess=true"],
      handshake: false,
    });
  });
  afterAll(async () => {
    await workspace.remove();
    await installation[Symbol.asyncDispose]();
  });

  const attack = async (method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> =>
    (await server.request(method, params, 20_000)).result?.["result"];
  const ask = async (tool: string, args: object, origin?: object): Promise<string> =>
    String(await attack("ask", { body: call(++lines, tool, args, origin) }));

  test("gets what the caller could have had", async () => {
    expect(await ask("read_file", { path: "a.txt" })).toContain("hello");
  });

  test.each([
    ["a secret of the workspace", ".env"],
    ["a file outside", "/etc/passwd"],
  ])("does not get %s from the core", async (_what, path) => {
    const text = await ask("read_file", { path });
    expect(text).toContain("path_denied");
    expect(text).not.toContain("SECRET");
  });

  test.each(["principal", "owner", "transport"])("cannot choose the %s of a caller", async (field) => {
    expect(await ask("read_file", { path: "a.txt" }, { [field]: "admin" })).toContain("malformed");
  });

  test("connects to no socket: EACCES", async () => {
    const other = createServer().listen(join(workspace.root, "other.sock"));
    await once(other, "listening");
    expect(await attack("connect", { path: join(workspace.root, "other.sock") })).toBe("EACCES");
    other.close();
  });

  test("is not served in a version of the link that nobody agreed on", async () => {
    expect(await attack("versions")).toEqual([422, 422, 422]);
  });

  test("gets so many connections and no more, and the core goes on", async () => {
    const core = coreOf(server);
    expect(await attack("hoard")).toBe(13);
    expect(coreOf(server)).toBe(core);
    // The next front has its own.
    await attack("break").catch(() => {});
    expect(await ask("read_file", { path: "a.txt" })).toContain("hello");
  });

  test("records about lines that are not its own, and fields without sense, change nothing", async () => {
    expect(await attack("confuse")).toBe("confused");
    expect(await ask("read_file", { path: "a.txt" })).toContain("hello");
    expect(server.strays).toEqual([]);
  });

  test("FAIL-D7 what it has the supervisor keep is bounded: it is ended, and the line is not read again", async () => {
    const before = server.messages.length;
    const wasRefused = (): boolean =>
      server.messages.slice(before).some(({ id }) => String(id).startsWith("refused"));
    const heldBefore = server.residentBytes();
    server.request("hold").catch(() => {});
    await server.until(wasRefused, "the answer to the line");
    // Of the 300 MB that it sends: the bound is 16 MiB, and there is garbage.
    expect(server.residentBytes() - heldBefore).toBeLessThan(100_000_000);
    expect(await ask("read_file", { path: "a.txt" })).toContain("hello");
  });
});

/** Somebody listens there, and nobody comes. */
let arrived = 0;
const listener = createServer(() => arrived++).listen(0, "127.0.0.1");
await once(listener, "listening");
const { port: OPEN_PORT } = listener.address() as AddressInfo;
afterAll(() => {
  listener.close();
  expect(arrived).toBe(0);
});

/** What Node refuses by itself, and what the kernel says where somebody has found a way around Node. */
describe.each([
  ["Node's permissions", true],
  ["the kernel alone", false],
] as const)("FAIL-H1 REQ-I2 inside the real front, held by %s", (_what, hasPermissions) => {
  let installation: Installation;
  let workspace: Workspace;
  let server: ServerProcess;

  beforeAll(async () => {
    installation = await createInstallation();
    await installation.write(
      "src/front.ts",
      await readFile(join(import.meta.dirname, "hostile-front-main.ts"), "utf8"),
    );
    if (!hasPermissions) {
      const file = "src/host/confine/node-arguments.ts";
      await installation.edit(file, /"--permission",\s*\.\.\.allowed,/, "");
      await installation.edit(
        file,
        "...nodeFlags,",
        '...nodeFlags.filter((flag) => !flag.startsWith("--allow-")),',
      );
    }
    workspace = await createWorkspace({ "a.txt": "hello\n" });
    server = await workspace.start({
      command: [installation.launcher],
      args: ["--set", "mcp.subprocess=true"],
      handshake: false,
    });
  });
  afterAll(async () => {
    await workspace.remove();
    await installation[Symbol.asyncDispose]();
  });

  const attack = async (method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> =>
    (await server.request(method, params, 30_000)).result?.["result"];
  const REFUSALS: readonly (readonly [string, string, string, string, Readonly<Record<string, unknown>>])[] =
    [
      ["reads a file outside", "ERR_ACCESS_DENIED", "ENOENT", "read", { path: "/etc/passwd" }],
      ["reads the environment of others", "ERR_ACCESS_DENIED", "ENOENT", "read", { path: "/proc/1/environ" }],
      ["writes a temporary file", "ERR_ACCESS_DENIED", "EPERM", "write", { path: "/tmp/from-the-front" }],
      ["writes beside its code", "ERR_ACCESS_DENIED", "EPERM", "write", { path: "/from-the-front" }],
      ["starts a program", "ERR_ACCESS_DENIED", "EPERM", "spawn", {}],
      ["connects over TCP", "EACCES", "EACCES", "connect", { host: "127.0.0.1", port: OPEN_PORT }],
      ["opens a netlink socket", "ERR_DLOPEN_DISABLED", "EACCES", "netlink", {}],
      ["sends a datagram", "EACCES", "EACCES", "datagram", {}],
      ["traces a process", "ERR_DLOPEN_DISABLED", "EPERM", "ptrace", {}],
      ["mounts a file system", "ERR_DLOPEN_DISABLED", "EPERM", "mount", {}],
    ];
  const refusals = REFUSALS.map(([what, ofNode, ofKernel, method, params]) => ({
    what,
    refusal: hasPermissions ? ofNode : ofKernel,
    method,
    params,
  }));

  test.each(refusals)("it $what: $refusal", async ({ refusal, method, params }) => {
    const answer = await attack(method, params);
    // In the tier without a root of its own (Landlock), files are there and cannot be opened.
    expect(refusal === "ENOENT" ? ["ENOENT", "EACCES"] : [refusal]).toContain(answer);
  });

  test("a loop that does not end has half a processor", async () => {
    expect(Number(await attack("busy", { ms: 2000 }))).toBeLessThan(0.75);
  });

  test("600 MB are not there (SIGKILL, or ENOMEM), and the core goes on", async () => {
    const core = coreOf(server);
    const before = server.messages.length;
    attack("allocate").catch(() => {});
    const wasRefused = (): boolean =>
      server.messages.slice(before).some(({ id }) => String(id).startsWith("refused"));
    await server.until(wasRefused, "the answer to the line", 50_000);
    // By the group's end for it; where only RLIMIT_DATA holds, Node ends itself.
    expect(server.stderr).toMatch(/the front ended \(/);
    expect(server.residentBytes()).toBeLessThan(450_000_000);
    expect(coreOf(server)).toBe(core);
    expect(await attack("read", { path: "/etc/passwd" })).not.toBe("allowed");
  });
});
