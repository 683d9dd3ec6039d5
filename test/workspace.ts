import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { trustWorkspace } from "./app.ts";

const repository = fileURLToPath(new URL("..", import.meta.url));

/** The program as clients start it. */
export const launcher = join(repository, "bin/llmc");

/** Nothing of the tester's environment reaches the program, except what it needs to start. */
export const cleanEnv = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: process.env["HOME"] ?? "",
  XDG_CONFIG_HOME: process.env["XDG_CONFIG_HOME"] ?? "",
  XDG_STATE_HOME: process.env["XDG_STATE_HOME"] ?? "",
  ...(process.env["NODE_COMPILE_CACHE"] && { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }),
});

export type Id = string | number;

/** Any message of the server: an answer, a notification or a request. */
export interface Message {
  readonly jsonrpc: "2.0";
  readonly id?: Id | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

export interface Failure {
  readonly error: string;
  readonly meta: Readonly<Record<string, unknown>> & {
    readonly error_code: string;
    readonly retryable: boolean;
    readonly correlation_id: string;
  };
}

export const textOf = (result: ToolResult): string => result.content.map(({ text }) => text).join("\n");

export const failureOf = (result: ToolResult): Failure => {
  if (result.isError !== true) throw new Error(`expected a failure, got ${textOf(result).slice(0, 200)}`);
  return JSON.parse(textOf(result)) as Failure;
};

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServeOptions {
  readonly args?: readonly string[];
  /** Instead of the launcher: the program and its first arguments. */
  readonly command?: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** Leave stderr unread, as some clients do. */
  readonly ignoreStderr?: boolean;
  /** False: the test does the handshake itself, or none. */
  readonly handshake?: boolean;
  /** False: the workspace's file is not trusted. */
  readonly trusted?: boolean;
}

const isProtocol = (value: unknown): value is Message => {
  if (typeof value !== "object" || value === null || !("jsonrpc" in value) || value.jsonrpc !== "2.0")
    return false;
  const isAnswer = "id" in value && "result" in value !== "error" in value;
  return isAnswer || ("method" in value && typeof value.method === "string");
};

const HANDSHAKE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "llmc-test", version: "0" },
};

/** What each request of a 2026-07-28 client carries. */
export const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": HANDSHAKE.clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
} as const;

/** A running server, seen from its client's side of the pipes. */
export class Server {
  readonly process: ChildProcessWithoutNullStreams;
  /** Everything that came, in order. */
  readonly messages: Message[] = [];
  /** Lines of stdout that are no protocol: there must be none. */
  readonly strays: string[] = [];
  readonly exited: Promise<Exit>;
  stderr = "";
  #answers = new Map<Id, Message[]>();
  #listeners = new Set<() => void>();
  #unfinished = "";
  #nextId = 1;

  constructor(child: ChildProcessWithoutNullStreams, ignoreStderr: boolean) {
    this.process = child;
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    if (!ignoreStderr)
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        this.stderr += text;
        this.#wake();
      });
    // Writing to a server that has ended is part of some tests.
    child.stdin.on("error", () => {});
    this.exited = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        resolve({ code, signal });
        this.#wake();
      });
    });
  }

  get hasExited(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  #read(text: string): void {
    const lines = (this.#unfinished + text).split("\n");
    this.#unfinished = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
    this.#wake();
  }

  #take(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      value = undefined;
    }
    if (!isProtocol(value)) {
      this.strays.push(line);
      return;
    }
    this.messages.push(value);
    if (value.method !== undefined || value.id === undefined || value.id === null) return;
    const known = this.#answers.get(value.id);
    if (known === undefined) this.#answers.set(value.id, [value]);
    else known.push(value);
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Polls a claim whenever something arrives, and fails with what is known when it stays false. */
  until(claim: () => boolean, what: string, timeoutMs = 15_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        this.#listeners.delete(check);
        finish();
      };
      const fail = (why: string): void =>
        settle(() => reject(new Error(`${what}: ${why}. stderr ends with:\n${this.stderr.slice(-1500)}`)));
      const check = (): void => {
        if (claim()) settle(resolve);
        else if (this.hasExited && this.process.stdout.readableEnded) fail("the server has ended");
      };
      const timer = setTimeout(() => fail(`not within ${timeoutMs} ms`), timeoutMs);
      this.#listeners.add(check);
      check();
    });
  }

  answersTo(id: Id): readonly Message[] {
    return this.#answers.get(id) ?? [];
  }

  write(bytes: string | Uint8Array): boolean {
    return this.process.stdin.write(bytes);
  }

  /** Like `write`, but waits for a server that reads slowly. */
  async writeAll(bytes: string | Uint8Array): Promise<void> {
    if (!this.write(bytes)) await new Promise((resolve) => this.process.stdin.once("drain", resolve));
  }

  send(message: Readonly<Record<string, unknown>>): void {
    this.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** Sends a request without waiting; the id is the way to its answer. */
  ask(method: string, params?: Readonly<Record<string, unknown>>): number {
    const id = this.#nextId++;
    this.send({ id, method, ...(params === undefined ? {} : { params }) });
    return id;
  }

  async answer(id: Id, timeoutMs?: number): Promise<Message> {
    await this.until(() => this.answersTo(id).length > 0, `answer to ${String(id).slice(0, 80)}`, timeoutMs);
    return this.answersTo(id)[0] as Message;
  }

  request(method: string, params?: Readonly<Record<string, unknown>>, timeoutMs?: number): Promise<Message> {
    return this.answer(this.ask(method, params), timeoutMs);
  }

  askTool(name: string, args?: unknown): number {
    return this.ask("tools/call", { name, ...(args === undefined ? {} : { arguments: args }) });
  }

  async toolResult(id: Id, timeoutMs?: number): Promise<ToolResult> {
    const { result, error } = await this.answer(id, timeoutMs);
    if (result === undefined) throw new Error(`a protocol error: ${error?.message}`);
    return result as unknown as ToolResult;
  }

  call(name: string, args?: unknown, timeoutMs?: number): Promise<ToolResult> {
    return this.toolResult(this.askTool(name, args), timeoutMs);
  }

  async toolNames(): Promise<readonly string[]> {
    const { result } = await this.request("tools/list");
    return (result as unknown as { tools: { name: string }[] }).tools.map(({ name }) => name);
  }

  async handshake(): Promise<Message> {
    const answer = await this.request("initialize", HANDSHAKE);
    this.send({ method: "notifications/initialized" });
    return answer;
  }

  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.process.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  }

  async stop(): Promise<Exit> {
    this.process.stdin.end();
    const timer = setTimeout(() => this.process.kill("SIGKILL"), 5000);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }
}

/** The text of a custom module: `body` may call `tool(name, run)` and use the kit. */
export const toolModule = (body: string): string => `
export const register = (kit) => {
  const tool = (name, run, input = kit.z.strictObject({})) =>
    kit.tool({ name, description: name, effect: "read", input, run, render: (out) => JSON.stringify(out ?? null) });
  ${body}
};
`;

/** Classic mode, with the modules of the workspace's folder `mods`. */
export const WITH_MODULES = ["--mode", "classic", "--set", "mcp.tools.custom_modules=mods"] as const;

/** A temporary folder and the servers started on it; both go when the test ends. */
export interface Workspace {
  readonly root: string;
  write(path: string, content: string | Uint8Array): Promise<void>;
  read(path: string): Promise<string>;
  /** What `llmc trust --yes` does. */
  trust(): Promise<void>;
  serve(options?: ServeOptions): Promise<Server>;
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const createWorkspace = async (
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<Workspace> => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "llmc-test-")));
  const servers: Server[] = [];
  const write: Workspace["write"] = async (path, content) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  for (const [path, content] of Object.entries(files)) await write(path, content);

  // A file that is wrong is the test's own affair.
  const trust = (): Promise<void> => trustWorkspace(root).catch(() => {});

  const remove = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(root, { recursive: true, force: true });
  };
  return {
    root,
    write,
    read: (path) => readFile(join(root, path), "utf8"),
    trust,
    serve: async ({
      args = [],
      command,
      env = {},
      ignoreStderr = false,
      handshake = true,
      trusted = true,
    } = {}) => {
      if (trusted) await trust();
      const [program, ...first] = command ?? [launcher];
      const child = spawn(program, [...first, "serve", "--stdio", "--root", root, ...args], {
        // Another folder than the workspace: clients start servers from wherever they are.
        cwd: "/",
        env: { ...cleanEnv(), ...env },
      });
      const server = new Server(child, ignoreStderr);
      servers.push(server);
      if (handshake) await server.handshake();
      return server;
    },
    remove,
    [Symbol.asyncDispose]: remove,
  };
};
