import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cpuMsOfParts } from "./server-parts.ts";

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Reply {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

export type ToolArguments = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly ms: number;
  /** All text of the answer, as a model reads it. */
  readonly text: string;
  readonly structured: unknown;
}

export interface ServerProcess {
  readonly pid: number;
  /** Processor time that all its processes have used so far, in milliseconds; NaN where there is no /proc. */
  cpuMs(): number;
  /** Sends a request and waits for its answer; `ms` ends when the bytes arrive, before they are parsed. */
  request(
    method: string,
    params?: unknown,
  ): Promise<{ readonly ms: number; readonly result: Readonly<Record<string, unknown>> }>;
  /** Initializes the session; resolves to what the server says about itself. */
  handshake(): Promise<Readonly<Record<string, unknown>>>;
  /** Calls a tool; resolves to the milliseconds. A failure of the tool is a failure of the benchmark. */
  call(tool: string, args?: ToolArguments): Promise<number>;
  /** The same, for those who want the answer. */
  ask(tool: string, args?: ToolArguments): Promise<Answer>;
  close(): Promise<void>;
}

const INITIALIZE = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "llmc-bench", version: "1.0.0" },
};

const frame = (message: object): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;

const INITIALIZED = frame({ method: "notifications/initialized" });

/** A shell's settings for llmc or a compile cache would measure that shell. */
export const cleanEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || /^(LLMC_|NODE_COMPILE_CACHE$|npm_)/.test(name) ? [] : [[name, value]],
    ),
  );

export const textOf = (content: unknown): string =>
  (Array.isArray(content) ? (content as readonly { readonly text?: unknown }[]) : [])
    .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
    .join("\n");

/** Raw JSON-RPC over the pipes of a child: no client library whose own time would be measured too. */
export const startServer = ({ command, args, env = {} }: Launch): ServerProcess => {
  const child = spawn(command, args, { env: { ...cleanEnvironment(), ...env } });
  const waiting = new Map<number, { resolve(reply: Reply, at: number): void; reject(error: Error): void }>();
  let lastId = 0;
  let unread = "";
  let lastOutput: Buffer | undefined;

  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const fail = (why: string): void => {
    for (const { reject } of waiting.values()) reject(new Error(`${command}: ${why}\n${lastOutput ?? ""}`));
    waiting.clear();
  };
  child.once("error", (error) => fail(error.message));
  child.once("exit", (code) => fail(`ended with ${code} before it answered`));
  child.stdin.on("error", () => {});
  // Read and dropped, as cheaply as can be: the reader's time is part of what is measured.
  child.stderr.on("data", (chunk: Buffer) => {
    lastOutput = chunk;
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const at = performance.now();
    // An answer of megabytes comes in hundreds of pieces, and would be searched for its end as often.
    if (!text.includes("\n")) {
      unread += text;
      return;
    }
    const lines = (unread + text).split("\n");
    unread = lines.pop() ?? "";
    for (const line of lines) {
      const reply = JSON.parse(line) as Reply;
      if (reply.id === undefined) continue;
      waiting.get(reply.id)?.resolve(reply, at);
      waiting.delete(reply.id);
    }
  });

  const send = (method: string, params: unknown, trailer = "") =>
    new Promise<{ ms: number; result: Readonly<Record<string, unknown>> }>((resolve, reject) => {
      const id = ++lastId;
      const text = frame({ id, method, params }) + trailer;
      const startedAt = performance.now();
      waiting.set(id, {
        resolve: ({ result, error }, at) => {
          if (result === undefined) reject(new Error(`${method}: ${error?.message ?? "no result"}`));
          else resolve({ ms: at - startedAt, result });
        },
        reject,
      });
      child.stdin.write(text);
    });

  const callTool = async (tool: string, args: ToolArguments) => {
    const answer = await send("tools/call", { name: tool, arguments: args });
    if (answer.result["isError"]) {
      throw new Error(`${tool} failed: ${JSON.stringify(answer.result["content"])}`);
    }
    return answer;
  };

  return {
    pid: child.pid ?? 0,
    cpuMs: () => cpuMsOfParts(child.pid ?? 0),
    request: (method, params = {}) => send(method, params),
    handshake: async () => (await send("initialize", INITIALIZE, INITIALIZED)).result,
    call: async (tool, args = {}) => (await callTool(tool, args)).ms,
    ask: async (tool, args = {}) => {
      const { ms, result } = await callTool(tool, args);
      return { ms, text: textOf(result["content"]), structured: result["structuredContent"] };
    },
    close: async () => {
      child.stdin.end();
      const impatience = setTimeout(() => child.kill("SIGKILL"), 3000);
      await exited;
      clearTimeout(impatience);
    },
  };
};

/** From spawn to the answer of tools/list, with everything up to it written at once. */
export const timeToFirstList = async (launch: Launch): Promise<number> => {
  const startedAt = performance.now();
  const server = startServer(launch);
  const greeting = server.handshake();
  const list = server.request("tools/list");
  await Promise.all([greeting, list]);
  const ms = performance.now() - startedAt;
  await server.close();
  return ms;
};

/** Until the compiled code of the next start is kept, which is put off until the client has its first answers. */
const SERVE_MS = 8000;

/** A start uses what the last one left when it had served for a few seconds, as every server of a client does. */
export const serveAWhile = async (launch: Launch): Promise<void> => {
  const server = startServer(launch);
  await server.handshake();
  await sleep(SERVE_MS);
  await server.close();
};

/** Both sides of a comparison run on the Node that runs the benchmark. */
export const llmc = (program: string, root: string, ...args: readonly string[]): Launch => ({
  command: program,
  args: ["serve", "--stdio", "--root", root, ...args],
  env: { LLMC_NODE: process.execPath },
});

export const bare = (env: Readonly<Record<string, string>> = {}): Launch => ({
  command: process.execPath,
  args: [fileURLToPath(new URL("../servers/bare.mjs", import.meta.url))],
  env,
});
