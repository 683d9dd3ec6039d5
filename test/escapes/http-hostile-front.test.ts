import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type DoorProcess, startHttpDoor, TOKEN } from "../doors/http-door.ts";
import { createInstallation, type Installation } from "../installation.ts";
import { frontsOf } from "../server-parts.ts";

const MAX_CONNECTIONS = 40;
/** Beside one for each client, for greetings. */
const FURTHER_CONNECTIONS = 16;

const READ = JSON.stringify({ session_id: "s", name: "read_file", args: { path: "a.txt" } });

interface Request {
  readonly method?: string;
  readonly path?: string;
  readonly token?: string;
  readonly peer?: string | undefined;
  readonly headers?: readonly string[];
  readonly body?: string;
}

/** A request as a front writes it. */
const bytesOf = ({
  method = "POST",
  path = "/tool",
  token = TOKEN,
  peer = "127.0.0.1",
  ...rest
}: Request): string => {
  const { headers = [], body = READ } = rest;
  return [
    `${method} ${path} HTTP/1.1`,
    "host: localhost",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-llmc-token: ${token}`,
    ...(peer === "" ? [] : [`llmc-peer: ${peer}`]),
    ...headers,
    "",
    body,
  ].join("\r\n");
};

describe("FAIL-H1 REQ-I1 a hostile program in the place of the front of the HTTP door, under the real core", () => {
  let installation: Installation;
  let door: DoorProcess;

  beforeAll(async () => {
    installation = await createInstallation();
    await installation.write(
      "src/front.ts",
      readFileSync(join(import.meta.dirname, "hostile-http-front-main.ts"), "utf8"),
    );
    door = await startHttpDoor({
      command: installation.launcher,
      args: ["--set", `mcp.server.max_connections=${MAX_CONNECTIONS}`],
      files: { "a.txt": "hello\n", ".env": "SECRET=1\n" },
    });
  });
  afterAll(async () => {
    await door[Symbol.asyncDispose]();
    await installation[Symbol.asyncDispose]();
  });

  const attack = async (name: string, params: object = {}): Promise<unknown> => {
    const response = await fetch(`${door.url}/`, {
      method: "POST",
      body: JSON.stringify({ name, ...params }),
    });
    return response.json();
  };
  const send = async (request: Request | string): Promise<string> =>
    String(await attack("send", { bytes: typeof request === "string" ? request : bytesOf(request) }));

  test("with the token of a client it gets what the client would get", async () => {
    expect(await send({})).toContain("hello");
  });

  test("a secret of the workspace is refused as it is to every caller", async () => {
    const body = JSON.stringify({ session_id: "s", name: "read_file", args: { path: ".env" } });
    const answer = await send({ body });
    expect(answer).toContain("HTTP/1.1 403");
    expect(answer).not.toContain("SECRET");
  });

  test("it reads no file, and connects neither to a socket nor to a port of the machine", async () => {
    const path = join(door.root, "other.sock");
    const [other, tcp] = [createServer().listen(path), createServer().listen(0, "127.0.0.1")];
    await Promise.all([once(other, "listening"), once(tcp, "listening")]);
    const address = tcp.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    expect(await attack("read", { path: join(door.root, "a.txt") })).not.toBe("allowed");
    expect(await attack("read", { path: "/etc/passwd" })).not.toBe("allowed");
    expect(await attack("connect", { path })).toBe("EACCES");
    expect(await attack("connect", { port })).toBe("EACCES");
    for (const server of [other, tcp]) server.close();
  });

  test.each([
    ["a wrong token", { token: "guess" }, "HTTP/1.1 401"],
    [
      "no token, whatever else it says about the client",
      { token: "", headers: ["llmc-principal: admin"] },
      "401",
    ],
    ["a foreign Host", { headers: ["host: evil.example"] }, "HTTP/1.1 40"],
    ["a page of another origin", { headers: ["origin: https://evil.example"] }, "HTTP/1.1 403"],
    ["broken JSON", { body: "{" }, "HTTP/1.1 422"],
    ["JSON that is nested too deep", { body: "[".repeat(40) + "]".repeat(40) }, "HTTP/1.1 422"],
    // Announced only: what is sent on after a refusal may cost the sender the answer.
    ["a body beyond the limit", bytesOf({}).replace(/(?<=content-length: )\d+/, "2000000"), "HTTP/1.1 413"],
    ["a compressed body", { headers: ["content-encoding: gzip"] }, "HTTP/1.1 415"],
  ])("%s is refused by the core again", async (_, request, expected) => {
    expect(await send(request)).toContain(expected);
  });

  test.each([
    ["no address", ""],
    ["a name for an address", "localhost"],
    ["two addresses", "127.0.0.1, 10.0.0.1"],
  ])("a request with %s ends its connection", async (_, peer) => {
    expect(await send({ peer })).toBe("");
  });

  test.each([
    ["nothing of HTTP", "\0\x01garbage\r\n\r\n"],
    ["the link of the other door", bytesOf({ method: "GET", path: "/v1/stream", peer: "", body: "" })],
    [
      "an upgrade to it",
      bytesOf({ headers: ["connection: Upgrade", "upgrade: llmc-link"], path: "/v1/stream" }),
    ],
  ])("%s gets nothing", async (_, bytes) => {
    expect(await send(bytes)).not.toMatch(/HTTP\/1.1 (?:200|101)/);
  });

  test("forged addresses help nobody to guess: a wrong token is wrong from everywhere", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => send({ token: `guess-${i}`, peer: `10.0.${i}.1` })),
    );
    for (const answer of answers) expect(answer).toContain("HTTP/1.1 401");
  });

  test("more requests than a token may send are refused, whichever addresses they name", async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => send({ peer: `10.0.0.${i + 1}` })),
    );
    expect(answers.filter((answer) => answer.includes("HTTP/1.1 429")).length).toBeGreaterThan(20);
  });

  test("requests sent ahead end the connection before more of them are under way than one client's", async () => {
    const health = bytesOf({ method: "GET", path: "/health", body: "" });
    const answered = (await send(health.repeat(200))).split("HTTP/1.1 200").length - 1;
    expect(answered).toBeLessThan(200);
  });

  test("it gets no more connections than clients could have had", async () => {
    const held = Number(await attack("hoard"));
    expect(held).toBeGreaterThan(1);
    expect(held).toBeLessThanOrEqual(MAX_CONNECTIONS + FURTHER_CONNECTIONS);
    await vi.waitFor(
      async () => expect(await send({ method: "GET", path: "/health", body: "" })).toContain("200"),
      10_000,
    );
  });

  test("records that mean nothing here are ignored, and one that is none ends it: another is started", async () => {
    expect(await attack("confuse")).toBe("confused");
    expect(await send({ method: "GET", path: "/health", body: "" })).toContain("HTTP/1.1 200");
    const [before] = frontsOf(door);
    await attack("break").catch(() => {});
    await vi.waitFor(() => expect(frontsOf(door)[0]).not.toBe(before), 10_000);
    await vi.waitFor(
      async () => expect(await send({ method: "GET", path: "/health", body: "" })).toContain("200"),
      10_000,
    );
  });
});
