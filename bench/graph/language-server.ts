import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";

/** A request that takes longer means that the server hangs. */
const REQUEST_TIMEOUT_MS = 180_000;

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A language server that speaks LSP on its standard streams. */
export interface LanguageServer {
  request(method: string, params: unknown): Promise<unknown>;
  notify(method: string, params: unknown): void;
  stop(): void;
}

/** Takes messages out of a stream of `Content-Length` frames. */
const createFrames = (onMessage: (message: Message) => void) => {
  let waiting = Buffer.alloc(0);
  return (piece: Buffer): void => {
    waiting = Buffer.concat([waiting, piece]);
    for (;;) {
      const end = waiting.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(waiting.subarray(0, end).toString("latin1"))?.[1]);
      if (!Number.isSafeInteger(length))
        throw new Error("The language server sent a frame without a length.");
      const from = end + 4;
      if (waiting.length < from + length) return;
      const message = JSON.parse(waiting.subarray(from, from + length).toString("utf8")) as Message;
      waiting = waiting.subarray(from + length);
      onMessage(message);
    }
  };
};

/**
 * @param script run by the Node that runs the benchmark.
 * @param settings by section, for when the server asks; it has defaults for all others.
 */
export const startLanguageServer = (
  script: string,
  cwd: string,
  settings: Readonly<Record<string, unknown>>,
): LanguageServer => {
  const child = spawn(process.execPath, [script, "--stdio"], { cwd, stdio: ["pipe", "pipe", "ignore"] });
  const open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let nextId = 1;
  const send = (message: object): void => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    child.stdin.write(body);
  };
  const failAll = (error: Error): void => {
    for (const { reject } of open.values()) reject(error);
    open.clear();
  };
  const answer = ({ id, method, params }: Message): void => {
    const { items } = (params ?? {}) as { items?: readonly { readonly section?: string }[] };
    const isConfiguration = method === "workspace/configuration";
    send({
      id,
      result: isConfiguration ? (items ?? []).map(({ section }) => settings[section ?? ""] ?? null) : null,
    });
  };
  const take = createFrames((message) => {
    if (message.method !== undefined) {
      if (message.id !== undefined) answer(message);
      return;
    }
    const call = open.get(Number(message.id));
    open.delete(Number(message.id));
    if (message.error === undefined) call?.resolve(message.result);
    else call?.reject(new Error(message.error.message));
  });
  child.stdout.on("data", take);
  child.stdin.on("error", failAll);
  child.on("error", failAll);
  child.on("exit", (code) => failAll(new Error(`The language server ended with ${code}.`)));
  return {
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const id = nextId++;
        const timer = setTimeout(() => {
          open.delete(id);
          reject(new Error(`The language server gave no answer to ${method}.`));
        }, REQUEST_TIMEOUT_MS);
        open.set(id, {
          resolve: (value) => {
            clearTimeout(timer);
            resolve(value);
          },
          reject: (error) => {
            clearTimeout(timer);
            reject(error);
          },
        });
        send({ id, method, params });
      }),
    notify: (method, params) => send({ method, params }),
    stop: () => {
      child.removeAllListeners("exit");
      child.kill();
      failAll(new Error("The language server was stopped."));
    },
  };
};
