import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { trustWorkspace } from "../app.ts";
import { cleanEnv, launcher } from "../workspace.ts";

export const TOKEN = "a-test-value-that-nobody-guesses";

/** For tests that are not about limits. */
export const UNLIMITED = [
  "--set",
  "mcp.limits.rate_limit_rps=1000000",
  "--set",
  "mcp.limits.rate_limit_burst=1000000",
] as const;

interface DoorOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Workspace files by relative path. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The HTTP door of the real program, on a free port, over a workspace of its own. */
export interface HttpDoor extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly root: string;
  readonly process: ChildProcess;
  readonly exited: Promise<number | null>;
  logs(): string;
  out(): string;
  /** With the token, as JSON. */
  post(
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Response>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** One `/tool` call. */
  tool(name: string, args?: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

const START_MS = 20_000;

const untilOpen = async (child: ChildProcess, out: () => string, logs: () => string): Promise<string> => {
  const deadline = Date.now() + START_MS;
  for (;;) {
    const url = /https?:\/\/[^/\s]+(?=\/mcp)/.exec(out())?.[0];
    if (url !== undefined) return url;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the door did not open (exit ${child.exitCode}):\n${logs().slice(-2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

export const openHttpDoor = async ({
  args = [],
  env = { LLMC_MCP_TOKEN: TOKEN },
  files = { "a.txt": "hello\n" },
}: DoorOptions = {}): Promise<HttpDoor> => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "llmc-http-")));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  // The tests are about what the file says; whether it is believed is tested elsewhere.
  await trustWorkspace(root).catch(() => {});
  const child = spawn(launcher, ["serve", "--http", "--port", "0", "--root", root, ...args], {
    cwd: "/",
    env: { ...cleanEnv(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let logs = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    logs += text;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  const close = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
    rmSync(root, { recursive: true, force: true });
  };
  let url: string;
  try {
    url = await untilOpen(
      child,
      () => out,
      () => logs,
    );
  } catch (error) {
    await close();
    throw error;
  }
  const post: HttpDoor["post"] = (path, body, headers = {}, signal) =>
    fetch(`${url}${path}`, {
      method: "POST",
      ...(signal === undefined ? {} : { signal }),
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json", "x-llmc-token": TOKEN, ...headers },
    });
  return {
    url,
    port: Number(new URL(url).port),
    root,
    process: child,
    exited,
    logs: () => logs,
    out: () => out,
    post,
    get: (path, headers = {}) => fetch(`${url}${path}`, { headers: { "x-llmc-token": TOKEN, ...headers } }),
    tool: (name, toolArgs = {}, headers = {}) =>
      post("/tool", { session_id: "test", name, args: toolArgs }, headers),
    [Symbol.asyncDispose]: close,
  };
};

/** A connection on which a test writes its own bytes. */
export interface RawConnection {
  readonly socket: Socket;
  received(): string;
  /** Everything that came until the server closed the connection. */
  readonly closed: Promise<string>;
}

export const openRaw = async (port: number): Promise<RawConnection> => {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    received += text;
  });
  // A reset is one way to be closed.
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  await once(socket, "connect");
  return { socket, received: () => received, closed };
};

/** Sends one request in raw bytes and reads the answer to its end. */
export const sendRaw = async (port: number, bytes: string | Buffer): Promise<string> => {
  const raw = await openRaw(port);
  raw.socket.write(bytes);
  return raw.closed;
};

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
