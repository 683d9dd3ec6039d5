import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { describeFailure } from "../src/cli/describe-failure.ts";
import { parseServe } from "../src/cli/serve-flags.ts";
import { requestOf } from "../src/wiring/request.ts";
import { serveStreams } from "../src/wiring/serve.ts";
import { residentBytesOfTree } from "./server-parts.ts";
import { testSignals } from "./signals.ts";

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

/** The ends of a server's pipes, and its end. */
interface ServerEnds {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Left out where nobody reads it. */
  readonly stderr?: Readable;
  readonly exited: Promise<Exit>;
  readonly hasExited: () => boolean;
  /** Ends it in any case. */
  readonly kill: () => void;
}

/** A running server, seen from its client's side of the pipes. */
export class Server {
  /** Everything that came, in order. */
  readonly messages: Message[] = [];
  /** Lines of stdout that are no protocol: there must be none. */
  readonly strays: string[] = [];
  readonly exited: Promise<Exit>;
  stderr = "";
  readonly #ends: ServerEnds;
  #answers = new Map<Id, Message[]>();
  #listeners = new Set<() => void>();
  #unfinished = "";
  #nextId = 1;

  constructor(ends: ServerEnds) {
    this.#ends = ends;
    ends.stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    ends.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#wake();
    });
    // Writing to a server that has ended is part of some tests.
    ends.stdin.on("error", () => {});
    this.exited = ends.exited;
    void ends.exited.then(() => this.#wake());
  }

  get hasExited(): boolean {
    return this.#ends.hasExited();
  }

  /** The end of its input. */
  endInput(): void {
    this.#ends.stdin.end();
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
  until(claim: () => boolean, what: string, timeoutMs = 40_000): Promise<void> {
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
        else if (this.hasExited && this.#ends.stdout.readableEnded) fail("the server has ended");
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
    return this.#ends.stdin.write(bytes);
  }

  /** Like `write`, but waits for a server that reads slowly. */
  async writeAll(bytes: string | Uint8Array): Promise<void> {
    if (!this.write(bytes)) await new Promise((resolve) => this.#ends.stdin.once("drain", resolve));
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

  async handshake(capabilities: Readonly<Record<string, unknown>> = {}): Promise<Message> {
    const answer = await this.request("initialize", { ...HANDSHAKE, capabilities });
    this.send({ method: "notifications/initialized" });
    return answer;
  }

  async stop(): Promise<Exit> {
    this.endInput();
    const timer = setTimeout(this.#ends.kill, 5000);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }
}

/** A server in a process of its own, as clients start it. */
export class ServerProcess extends Server {
  readonly process: ChildProcessWithoutNullStreams;

  constructor(child: ChildProcessWithoutNullStreams, ignoreStderr: boolean) {
    super({
      stdin: child.stdin,
      stdout: child.stdout,
      ...(ignoreStderr ? {} : { stderr: child.stderr }),
      exited: new Promise((resolve) => {
        child.once("close", (code, signal) => resolve({ code, signal }));
      }),
      hasExited: () => child.exitCode !== null || child.signalCode !== null,
      kill: () => void child.kill("SIGKILL"),
    });
    this.process = child;
  }

  /** Of all its processes: what parses input and what does the work are two that the first one starts. */
  residentBytes(): number {
    return residentBytesOfTree(this.process.pid ?? 0);
  }
}

/** Serves in this process, over streams: a start of Node for each of some hundred servers would take minutes. */
export const serveHere = (argv: readonly string[], env: Readonly<Record<string, string>>): Server => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const { signals, stop } = testSignals();
  const start = {
    // Another folder than the workspace: clients start servers from wherever they are.
    cwd: "/",
    home: env["HOME"] ?? "/",
    env,
    stderr: { write: (text: string) => void stderr.write(text), flush: async () => {} },
    signals,
  };
  const serve = async (): Promise<number> => {
    try {
      const options = parseServe(argv, parseArgs);
      if (options === undefined) throw new Error(`not understood: ${argv.join(" ")}`);
      const streams = { input: stdin, output: stdout, isTerminal: false };
      await serveStreams(await requestOf(start, options, true), streams, signals);
      return 0;
    } catch (thrown) {
      const { text, exit } = describeFailure(thrown);
      stderr.write(text);
      return exit;
    }
  };
  let hasExited = false;
  const exited = serve().then(async (code): Promise<Exit> => {
    hasExited = true;
    stdout.end();
    stderr.end();
    await Promise.all([finished(stdout), finished(stderr)]);
    return { code, signal: null };
  });
  return new Server({ stdin, stdout, stderr, exited, hasExited: () => hasExited, kill: stop });
};
