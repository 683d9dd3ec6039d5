import { createLineSplitter } from "../base/line-splitter.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { claimStdout } from "../host/os/stdio.ts";
import { createFrontEvents } from "../link/front-events.ts";
import { createGate } from "../link/gate.ts";
import { createLinkClient, type LinkClient } from "../link/link-client.ts";
import { decodeRecord, encodeRecord, type FrontHello, type RelayRecord } from "../link/relay-records.ts";
import { createRemoteCore } from "../link/remote-core.ts";
import type { Snapshot } from "../link/snapshot.ts";
import { createStateCodec } from "../mcp/questions.ts";
import { RelayTransport } from "../mcp/relay-transport.ts";
import { serveConnection } from "../mcp/stdio.ts";
import { describeCause } from "../observe/cause.ts";
import { VERSION } from "./version.ts";

/** The supervisor's own bound is lower. */
const MAX_RECORD_BYTES = 128 * 1024 * 1024;
/** No call is begun while more bytes of answers than this wait for a client that does not read. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
const MAX_LOG_CHARS = 500;
const MAX_LOG_ENTRIES = 100;
const LOG_MS = 100;

/** Records to the supervisor. */
const createRecordWriter = (output: ReturnType<typeof claimStdout>["output"]) => {
  let draining: Promise<void> | undefined;
  let isCorked = false;
  /** What is said in one turn of the event loop goes out in one write. */
  const gather = (): void => {
    if (isCorked) return;
    isCorked = true;
    output.cork();
    setImmediate(() => {
      isCorked = false;
      output.uncork();
    });
  };
  const drained = (): Promise<void> => {
    draining ??= new Promise((resolve) => {
      output.once("drain", () => {
        draining = undefined;
        resolve();
      });
    });
    return draining;
  };
  return {
    send: async (kind: string, fields: readonly (string | number)[], payload?: string): Promise<void> => {
      gather();
      const [bytes] = encodeRecord(kind, fields, payload);
      if (!output.write(bytes) && output.writableLength > MAX_UNSENT_BYTES) await drained();
    },
    room: (): Promise<void> => (output.writableLength > MAX_UNSENT_BYTES ? drained() : Promise.resolve()),
    end: (): Promise<void> => new Promise((resolve) => output.end(resolve)),
  };
};

/** What the front has to say goes to the core's log, a few lines at a time. */
const createFrontLog = (link: () => LinkClient) => {
  let entries: { readonly level: "warn" | "error"; readonly message: string }[] = [];
  const flush = (): void => {
    const body = JSON.stringify({ entries });
    entries = [];
    void link()
      .post("/v1/log", body)
      .catch(() => {});
  };
  return (level: "warn" | "error", message: string): void => {
    if (entries.length >= MAX_LOG_ENTRIES) return;
    if (entries.length === 0) setTimeout(flush, LOG_MS);
    entries.push({ level, message: message.slice(0, MAX_LOG_CHARS) });
  };
};

/** Everything of a front, once it knows who it is. */
const createFront = (hello: FrontHello, writer: ReturnType<typeof createRecordWriter>) => {
  const gate = createGate();
  const link = createLinkClient(hello);
  const asked = new Set<number>();
  let current = 0;
  const log = createFrontLog(() => link);
  const events = createFrontEvents({
    link: () => link,
    seen: () => hello.seen,
    onSeen: (text) => void writer.send("V", [text]),
    isCurrent: (generation) => generation === current && gate.isUp(),
  });
  const transport = new RelayTransport({
    front: hello.front,
    send: writer.send,
    isAsked: (n) => asked.has(n),
    onRefused: (reason) => log("warn", `message refused: ${reason}`),
  });
  const core = createRemoteCore({
    link,
    snapshot: events.snapshot,
    reachable: async () => {
      await writer.room();
      await gate.reachable();
    },
    onBroken: gate.broken,
    generationOf: (n) => transport.generationOf(n),
    isRepeated: (n) => transport.isRepeated(n),
    onAsked: (n) => void asked.add(n),
    onSettled: (n) => {
      asked.delete(n);
      transport.settled(n);
    },
    onListChanged: events.onListChanged,
    onResourceUpdated: events.onResourceUpdated,
  });
  gate.onUp((generation) => {
    current = generation;
    void events.run(generation);
  });
  const door = serveConnection(
    {
      core,
      version: VERSION,
      codec: createStateCodec(() => Buffer.from(hello.stateKey, "base64")),
      onError: (error) => log("warn", `message refused: ${JSON.stringify(describeCause(error))}`),
      newId,
    },
    transport,
    () => hello.session,
    events.known,
  );
  return { gate, events, transport, door, close: () => link.close() };
};

type Front = ReturnType<typeof createFront>;

const take = (front: Front, record: RelayRecord, send: (kind: string) => void): void => {
  const { kind, fields, payload } = record;
  if (kind === "U") front.gate.up(Number(fields[0]));
  else if (kind === "N") front.gate.down();
  else if (kind === "C") front.events.learn(JSON.parse(payload.toString("utf8")) as Snapshot);
  else if (kind === "P") send("H");
  else front.transport.receive(record);
};

/** The front: parses what the supervisor hands it of the client's input, and asks the core for everything. */
export const serveFront = (): Promise<void> =>
  new Promise((resolve) => {
    const { input, output } = claimStdout(undefined);
    const writer = createRecordWriter(output);
    let front: Front | undefined;
    let isEnding = false;
    const end = async (): Promise<void> => {
      if (isEnding) return;
      isEnding = true;
      await front?.door.close();
      front?.close();
      await writer.end();
      input.destroy();
      resolve();
    };
    const splitter = createLineSplitter(() => MAX_RECORD_BYTES, 0, {
      onLine: (line) => {
        const record = decodeRecord(line);
        if (record?.kind === "I")
          front = createFront(JSON.parse(record.payload.toString("utf8")) as FrontHello, writer);
        else if (record?.kind === "E") void end();
        else if (record !== undefined && front !== undefined)
          take(front, record, (kind) => void writer.send(kind, []));
      },
      onOversize: () => {},
    });
    input.on("data", splitter.push);
    // The supervisor is gone, and with it the client.
    input.once("end", () => void end());
    output.on("error", () => void end());
  });
