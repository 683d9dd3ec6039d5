import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpDoor, openHttpDoor, TOKEN, UNLIMITED } from "./http-door.ts";
import { askSocket, type InvokeReply } from "./invoke-client.ts";

const folder = mkdtempSync(join(tmpdir(), "llmc-invoke-"));
const path = join(folder, "invoke.sock");
let door: HttpDoor;

const token = (): string => readFileSync(`${path}.token`, "utf8").trim();
const overSocket = (body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<InvokeReply> =>
  askSocket(path, body, { "x-llmc-token": token(), ...headers });

const overHttp = async (
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<InvokeReply> => {
  const answer = await door.post("/invoke", body, headers);
  return {
    status: answer.status,
    body: await answer.json(),
    headers: Object.fromEntries(answer.headers),
  };
};

beforeAll(async () => {
  door = await openHttpDoor({
    args: [...UNLIMITED, "--mode", "classic", "--set", `mcp.server.invoke_socket=${path}`],
    env: { LLMC_MCP_TOKEN: TOKEN, READER: "the-reader's-own-secret" },
    files: {
      "a.txt": "hello\n",
      "llmc.toml": '[mcp.auth]\ntokens = ["reader read env:READER"]\n',
    },
  });
});

afterAll(async () => {
  await door[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const failure = (code: string, details: object = {}) => ({
  error: {
    code,
    message: expect.stringMatching(/./),
    details: expect.objectContaining({ retryable: expect.any(Boolean), ...details }),
    request_id: expect.stringMatching(/^[\w.-]{8,64}$/),
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  },
});

describe.each([
  ["the Unix socket", overSocket],
  ["HTTP", overHttp],
])("REQ-H1 REQ-D2 POST /invoke over %s", (_, ask) => {
  it("answers with the tool's document, and takes dotted names", async () => {
    const { status, body } = await ask({ method: "linux.fs.read", params: { path: "a.txt" } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ result: { content: "hello\n" }, request_id: expect.any(String) });
    expect(body).not.toHaveProperty("error");
  });

  it("keeps a request id that is well-formed", async () => {
    const id = "a-request-of-mine";
    const { body } = await ask({ method: "stat", params: { path: "a.txt" } }, { "x-request-id": id });
    expect(body).toMatchObject({ request_id: id });
  });

  it.each([
    ["a field of the wrong type", { method: "stat", params: { path: 1 } }, 422, "VALIDATION_ERROR", "path"],
    ["a body without a method", { params: {} }, 422, "VALIDATION_ERROR", "method"],
    ["another field", { method: "stat", params: {}, id: 1 }, 422, "VALIDATION_ERROR", undefined],
    ["a tool that is not there", { method: "nothing" }, 404, "RESOURCE_NOT_FOUND", undefined],
    [
      "a file that is not there",
      { method: "stat", params: { path: "b" } },
      404,
      "RESOURCE_NOT_FOUND",
      undefined,
    ],
    [
      "a path outside",
      { method: "stat", params: { path: "/etc/passwd" } },
      403,
      "PERMISSION_DENIED",
      undefined,
    ],
    ["no JSON at all", "{", 422, "VALIDATION_ERROR", undefined],
    ["33 levels", `${'{"params":'.repeat(33)}{}${"}".repeat(33)}`, 422, "VALIDATION_ERROR", undefined],
  ])("%s is answered in the document's shape", async (_title, request, status, code, field) => {
    const reply = await ask(request);
    expect(reply.status).toBe(status);
    expect(reply.body).toEqual(failure(code, field === undefined ? {} : { field }));
  });

  it("FAIL-H3 the right user with a wrong token is refused", async () => {
    const reply = await ask(
      { method: "stat", params: { path: "a.txt" } },
      { "x-llmc-token": "not-the-token-of-this-start" },
    );
    expect(reply.status).toBe(401);
    expect(reply.body).toEqual(failure("PERMISSION_DENIED"));
  });
});

describe("REQ-I3 the socket", () => {
  it("and its token are this user's alone, and the token of HTTP does not fit", async () => {
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(lstatSync(`${path}.token`).mode & 0o777).toBe(0o600);
    expect((await overSocket({ method: "stat" }, { "x-llmc-token": TOKEN })).status).toBe(401);
  });

  it("FAIL-H3 a schema version that is not served is refused; an older one, or none, is not", async () => {
    const ask = (version: string) =>
      overSocket({ method: "stat", params: { path: "a.txt" } }, { "x-llmc-schema": version });
    expect((await ask("2.0")).status).toBe(422);
    expect((await ask("1.0")).status).toBe(200);
    expect((await ask("1.0")).headers["x-llmc-schema"]).toMatch(/^1\./);
  });

  it("serves nothing else", async () => {
    const reply = await askSocket(path, {}, { "x-llmc-token": token() }, "/tool");
    expect(reply.status).toBe(404);
  });

  it.runIf(process.getuid?.() === 0)(
    "FAIL-H3 a process of another user is refused by what the kernel says of it, whatever it knows",
    async () => {
      const secret = token();
      chmodSync(folder, 0o755);
      chmodSync(path, 0o666);
      const script = `
        const request = require("http").request({ socketPath: ${JSON.stringify(path)}, path: "/invoke", method: "POST",
          headers: { "x-llmc-token": process.env.SECRET } }, (r) => { console.log(r.statusCode); r.resume(); });
        request.end('{"method":"stat","params":{"path":"a.txt"}}');`;
      const options = { uid: 65_534, gid: 65_534, cwd: "/", env: { SECRET: secret } };
      const { stdout } = await promisify(execFile)(process.execPath, ["-e", script], options);
      expect(stdout.trim()).toBe("403");
      chmodSync(folder, 0o700);
    },
  );

  it("a second server leaves it to the first, and says so", async () => {
    const second = await openHttpDoor({ args: ["--set", `mcp.server.invoke_socket=${path}`] });
    await second[Symbol.asyncDispose]();
    expect(second.logs()).toContain("Another server listens on the socket");
    expect((await overSocket({ method: "stat", params: { path: "a.txt" } })).status).toBe(200);
  });

  it("a token of HTTP has its scopes here, too", async () => {
    const write = { method: "linux_fs_write", params: { path: "b.txt", content: "x" } };
    const reply = await overHttp(write, { "x-llmc-token": "the-reader's-own-secret" });
    expect(reply.status).toBe(403);
    expect(reply.body).toEqual(failure("PERMISSION_DENIED"));
  });

  /** A path in a folder that a link outside it leads to. */
  const linkTo = (target: string, name: string): string => {
    const link = join(folder, "link");
    symlinkSync(target, link);
    return join(link, name);
  };

  it.each([
    ["in the workspace", (root: string) => join(root, "invoke.sock")],
    ["in the workspace, through a link", (root: string) => linkTo(root, "run/invoke.sock")],
    ["in a folder that others can write", () => "/tmp/llmc-invoke.sock"],
    ["where a file is", () => join(folder, "file")],
    ["too long", () => join(folder, "x".repeat(120))],
  ])("is not opened %s", async (_title, where) => {
    writeFileSync(join(folder, "file"), "mine");
    const socket = where(door.root);
    const opened = openHttpDoor({
      args: ["--set", `mcp.server.invoke_socket=${socket}`, "--set", `mcp.tools.allowed_roots=${door.root}`],
    });
    await expect(opened).rejects.toThrow(/invoke_socket|cannot be used/);
    expect(existsSync(`${socket}.token`)).toBe(false);
    expect(readFileSync(join(folder, "file"), "utf8")).toBe("mine");
  });
});
