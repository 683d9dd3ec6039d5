import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { WebSocket } from "ws";
import { type HttpDoor, openHttpDoor, UNLIMITED } from "./http-door.ts";

/** Two principals of one server. */
export const ANN = { "x-llmc-token": "the-token-of-ann" };
export const BOB = { "x-llmc-token": "the-token-of-bob" };
export type Who = typeof ANN;

const ALL = "read,write,execute,egress";

interface TwoTokens {
  readonly ann?: string | undefined;
  readonly bob?: string | undefined;
  /** More of the configuration, in TOML. */
  readonly more?: string;
}

/** The configuration with the scopes of each token; an undefined one has been taken out. */
const config = ({ ann = ALL, bob, more = "" }: TwoTokens): string => {
  const tokens = [`ann ${ann} env:ANN`, ...(bob === undefined ? [] : [`bob ${bob} env:BOB`])];
  return `[mcp]\nmode = "classic"\n[mcp.auth]\ntokens = ${JSON.stringify(tokens)}\n${more}`;
};

export interface TokenDoor extends HttpDoor {
  /** Gives bob these scopes from now on; undefined: takes his token out. */
  setBob(scopes: string | undefined): Promise<void>;
  /** The document of one `/tool` call. */
  ask(who: Who, name: string, args?: unknown, sessionId?: string): Promise<Record<string, never>>;
}

export const openTokenDoor = async (
  more = "",
  files: Readonly<Record<string, string>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<TokenDoor> => {
  const door = await openHttpDoor({
    args: UNLIMITED,
    env: { ...env, ANN: ANN["x-llmc-token"], BOB: BOB["x-llmc-token"] },
    files: { ...files, "llmc.toml": config({ bob: ALL, more }) },
  });
  return {
    ...door,
    setBob: async (scopes) => {
      const before = door.logs().split("a token has lost rights").length;
      writeFileSync(join(door.root, "llmc.toml"), config({ bob: scopes, more }));
      while (door.logs().split("a token has lost rights").length === before)
        await new Promise((resolve) => setTimeout(resolve, 5));
    },
    ask: async (who, name, args = {}, sessionId = "shared") =>
      (await (await door.post("/tool", { session_id: sessionId, name, args }, who)).json()) as Record<
        string,
        never
      >,
  };
};

export const openSocket = (
  door: HttpDoor,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly socket: WebSocket; readonly closed: Promise<number> }> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${door.url.replace("http", "ws")}/ws`, { headers });
    const closed = new Promise<number>((done) => socket.once("close", done));
    socket.once("error", reject);
    socket.once("open", () => resolve({ socket, closed }));
  });

/** Sends one message and gives the next that comes with its id, progress aside. */
export const askSocket = (
  socket: WebSocket,
  message: { readonly id: number } & Record<string, unknown>,
): Promise<{ readonly event: string; readonly data: Record<string, never> }> =>
  new Promise((resolve) => {
    const listen = (data: unknown): void => {
      const answer = JSON.parse(String(data)) as { id: number; event: string; data: Record<string, never> };
      if (answer.id !== message.id || answer.event === "progress") return;
      socket.off("message", listen);
      resolve(answer);
    };
    socket.on("message", listen);
    socket.send(JSON.stringify(message));
  });

/** A JSON-RPC message to `/mcp`, as a client of 2025-11-25 sends it. */
export const postMcp = (
  door: HttpDoor,
  who: Who,
  message: object,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> =>
  door.post(
    "/mcp",
    { jsonrpc: "2.0", ...message },
    { accept: "application/json, text/event-stream", ...who, ...headers },
    signal,
  );

const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "0" },
};

/** Opens a session and gives its id. */
export const initialize = async (door: HttpDoor, who: Who, capabilities = {}): Promise<string> => {
  const params = { ...INITIALIZE, capabilities };
  const answer = await postMcp(door, who, { id: 1, method: "initialize", params });
  await answer.text();
  return answer.headers.get("mcp-session-id") ?? `status ${answer.status}`;
};

/** Status of a message that does nothing. */
export const ping = async (door: HttpDoor, who: Who, session: string): Promise<number> => {
  const answer = await postMcp(door, who, { id: 2, method: "ping" }, { "mcp-session-id": session });
  await answer.text();
  return answer.status;
};
