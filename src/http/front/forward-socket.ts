import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import SocketToCore, { type WebSocket, WebSocketServer } from "ws";
import { parseGuardedBytes } from "../../base/json-guard.ts";
import { encodeRefusal } from "../../link/http-link.ts";
import { renderRawError } from "../requests/errors.ts";
import { bytesOf } from "../requests/message-bytes.ts";
import { countUnfinished, TOO_MANY_UNFINISHED } from "../requests/unfinished-messages.ts";
import { serveControlFrames, UNFINISHED_LIMITS } from "../routes/web-socket-control.ts";
import { coreGone, type ForwardParts } from "./forward.ts";
import { answerHeaders, headOf } from "./headers.ts";

/** RFC 6455, 7.4.1. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const ABNORMAL = 1006;
const NO_STATUS = 1005;
/** How long a client has to answer a close frame. */
const CLOSE_MS = 500;
/** One side is not read while the other leaves this much unread: the core judges how much that is. */
const MAX_UNSENT_BYTES = 262_144;
/** With more unsent bytes than this, pings are not answered. */
const BACKLOG_BYTES = 1_048_576;
const MAX_REFUSAL_BYTES = 65_536;

/** Ends a connection whose peer does not take part in closing. */
const endSoon = (socket: WebSocket): void => void setTimeout(() => socket.terminate(), CLOSE_MS).unref();

const endClient = (client: WebSocket, code: number, reason: string | Buffer): void => {
  if (code === ABNORMAL) client.terminate();
  else if (code === NO_STATUS) client.close();
  else client.close(code, reason);
  endSoon(client);
};

/** Sends, and does not read more of where it came from until it is sent, if too much waits already. */
const passOn = (from: WebSocket, to: WebSocket, data: string | Buffer, isBinary: boolean): void => {
  if (to.readyState !== to.OPEN) return;
  to.send(data, { binary: isBinary }, () => {
    if (from.isPaused && to.bufferedAmount <= MAX_UNSENT_BYTES) from.resume();
  });
  if (to.bufferedAmount > MAX_UNSENT_BYTES) from.pause();
};

/** A message in the front's own words, or why it cannot be accepted. */
const rewrite = (message: Uint8Array): readonly [data: string | Buffer, isBinary: boolean] => {
  try {
    return [JSON.stringify(parseGuardedBytes(message)), false];
  } catch (thrown) {
    return [Buffer.from(encodeRefusal(thrown)), true];
  }
};

const join = (client: WebSocket, core: WebSocket): void => {
  const stopPings = serveControlFrames(client, {
    backlogBytes: BACKLOG_BYTES,
    onFlood: () => {
      endClient(client, POLICY_VIOLATION, "too many pings and pongs");
      core.terminate();
    },
  });
  client.on("message", (data) => passOn(client, core, ...rewrite(bytesOf(data))));
  core.on("message", (data, isBinary) => passOn(core, client, Buffer.from(bytesOf(data)), isBinary));
  // For a frame that is too large or broken, the library closes the connection with the right code.
  client.on("error", () => {});
  client.on("close", () => {
    stopPings();
    core.terminate();
  });
  core.on("close", (code, reason) => {
    // One that is being closed already has been told why.
    if (client.readyState === client.OPEN) endClient(client, code, reason);
  });
};

/** The core's answer to an upgrade that it refused, for a connection that has no response object. */
const passRefusal = async (incoming: IncomingMessage, stream: Duplex): Promise<void> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_REFUSAL_BYTES) break;
    parts.push(part);
  }
  const headers = answerHeaders(incoming);
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${headers[i + 1] ?? ""}`] : []));
  const head = [`HTTP/1.1 ${incoming.statusCode} ${incoming.statusMessage}`, ...lines, "", ""].join("\r\n");
  stream.end(Buffer.concat([Buffer.from(head, "latin1"), ...parts]), () => stream.destroy());
};

/** Header lines as the library takes them: what came twice is sent twice. */
const gathered = (headers: readonly string[]): Record<string, string[]> => {
  const all: Record<string, string[]> = {};
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    const values = all[name] ?? [];
    values.push(headers[i + 1] ?? "");
    all[name] = values;
  }
  return all;
};

/** A path as a part of a URL. */
const pathIn = (path: string): string => (path.startsWith("/") ? path.replaceAll("#", "%23") : "/");

/** Serves WebSockets: one to the client for each one to the core, which opens first and judges every message. */
export const createSocketForwarder = (parts: ForwardParts) => {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: parts.maxRequestBytes,
    ...UNFINISHED_LIMITS,
    perMessageDeflate: false,
    // The library would answer every ping, also those of a client that reads none of the answers.
    autoPong: false,
  });

  const fail = (stream: Duplex): void =>
    void stream.end(renderRawError(coreGone(), parts.newId()), () => stream.destroy());

  return async (request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> => {
    const ignore = (): void => void stream.destroy();
    stream.on("error", ignore);
    const gone = new AbortController();
    stream.once("close", () => gone.abort());
    const { path, headers } = headOf(request, parts.tokenHeader());
    try {
      const connection = await parts.exchange.connect(gone.signal);
      const core: WebSocket = new SocketToCore(`ws://core${pathIn(path)}`, {
        createConnection: () => connection,
        headers: gathered(headers) as unknown as Record<string, string>,
        perMessageDeflate: false,
      });
      let isOpen = false;
      stream.once("close", () => core.terminate());
      connection.once(
        "close",
        () => stream.destroyed || setTimeout(() => stream.destroy(), 2 * CLOSE_MS).unref(),
      );
      core.on("error", () => {
        if (!isOpen && !stream.destroyed) fail(stream);
      });
      core.once("unexpected-response", (_out, incoming) => {
        isOpen = true;
        passRefusal(incoming, stream).catch(ignore);
      });
      core.once("open", () => {
        isOpen = true;
        if (stream.destroyed) {
          core.terminate();
          return;
        }
        stream.off("error", ignore);
        sockets.handleUpgrade(request, stream, head, (client) => {
          countUnfinished(client, stream, parts.bodies, () =>
            endClient(client, TRY_AGAIN_LATER, TOO_MANY_UNFINISHED),
          );
          join(client, core);
        });
      });
    } catch {
      fail(stream);
    }
  };
};
