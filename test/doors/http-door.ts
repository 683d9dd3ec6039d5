import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describeFailure } from "../../src/cli/describe-failure.ts";
import { runCommandLine } from "../../src/wiring/commands.ts";
import { trustWorkspace } from "../app.ts";
import { pipeIo } from "../command-line.ts";
import { testSignals } from "../signals.ts";
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
  /** Of another installation; only for doors in processes of their own. */
  readonly command?: string;
}

/** The HTTP door of the real program, on a free port, over a workspace of its own. */
export interface HttpDoor extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly root: string;
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

/** A door in the test's own process. */
export interface OwnDoor extends HttpDoor {
  /** What SIGHUP does. */
  reload(): void;
}

/** A door in a process of its own. */
export interface DoorProcess extends HttpDoor {
  readonly process: ChildProcess;
  readonly exited: Promise<number | null>;
}

const START_MS = 20_000;

/** A running server, as far as it was started. */
interface Running {
  readonly hasEnded: () => boolean;
  readonly out: () => string;
  readonly logs: () => string;
  /** Ends it in any case. */
  readonly end: () => Promise<void>;
}

const untilOpen = async ({ hasEnded, out, logs }: Running): Promise<string> => {
  const deadline = Date.now() + START_MS;
  for (;;) {
    const url = /https?:\/\/[^/\s]+(?=\/mcp)/.exec(out())?.[0];
    if (url !== undefined) return url;
    if (hasEnded() || Date.now() > deadline)
      throw new Error(`the door did not open:\n${logs().slice(-2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

const doorOf = async (root: string, running: Running): Promise<HttpDoor> => {
  const close = async (): Promise<void> => {
    await running.end();
    rmSync(root, { recursive: true, force: true });
  };
  let url: string;
  try {
    url = await untilOpen(running);
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
    logs: running.logs,
    out: running.out,
    post,
    get: (path, headers = {}) => fetch(`${url}${path}`, { headers: { "x-llmc-token": TOKEN, ...headers } }),
    tool: (name, toolArgs = {}, headers = {}) =>
      post("/tool", { session_id: "test", name, args: toolArgs }, headers),
    [Symbol.asyncDispose]: close,
  };
};

const prepare = async ({
  args = [],
  env = { LLMC_MCP_TOKEN: TOKEN },
  files = { "a.txt": "hello\n" },
}: DoorOptions) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "llmc-http-")));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  // The tests are about what the file says; whether it is believed is tested elsewhere.
  await trustWorkspace(root).catch(() => {});
  return {
    root,
    argv: ["serve", "--http", "--port", "0", "--root", root, ...args],
    env: { ...cleanEnv(), ...env },
  };
};

/** Opens the door in this process, which saves a start of Node and loading the program again. */
export const openHttpDoor = async (options: DoorOptions = {}): Promise<OwnDoor> => {
  const { root, argv, env } = await prepare(options);
  const pipe = pipeIo();
  const { signals, stop, reload } = testSignals();
  let hasEnded = false;
  const ended = runCommandLine(argv, {
    cwd: "/",
    home: env["HOME"] ?? "/",
    env,
    io: pipe.io,
    stderr: { write: pipe.io.err, flush: async () => {} },
    signals,
    setExitCode: () => {},
  })
    .catch((thrown: unknown) => pipe.io.err(describeFailure(thrown).text))
    .finally(() => {
      hasEnded = true;
    });
  const end = async (): Promise<void> => {
    // Again and again: only a server that drains already drops what still runs.
    const impatience = setInterval(stop, 20);
    await ended;
    clearInterval(impatience);
  };
  const door = await doorOf(root, {
    hasEnded: () => hasEnded,
    out: () => pipe.out,
    logs: () => pipe.err,
    end,
  });
  return { ...door, reload };
};

/** Opens the door in a process of its own, as people do. */
export const startHttpDoor = async (options: DoorOptions = {}): Promise<DoorProcess> => {
  const { root, argv, env } = await prepare(options);
  // Where its sockets are: a server that is killed leaves them behind.
  const runtime = mkdtempSync(join(tmpdir(), "llmc-run-"));
  const child = spawn(options.command ?? launcher, argv, {
    cwd: "/",
    env: { XDG_RUNTIME_DIR: runtime, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const written = { out: "", logs: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    written.logs += text;
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
    rmSync(runtime, { recursive: true, force: true });
  };
  const door = await doorOf(root, {
    hasEnded: () => child.exitCode !== null,
    out: () => written.out,
    logs: () => written.logs,
    end,
  });
  return { ...door, process: child, exited };
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
