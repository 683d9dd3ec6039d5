import { acceptInherited } from "../host/net/link-sockets.ts";
import { newId } from "../host/os/lazy-builtins.ts";
import { createCoreAvailability } from "../link/core-availability.ts";
import { createCoreConnections } from "../link/core-connections.ts";
import { createFrontEvents } from "../link/front-events.ts";
import { createFrontLog } from "../link/front-log.ts";
import { LinkBroken } from "../link/link-broken.ts";
import { createLinkClient, type LinkClient } from "../link/link-client.ts";
import type { FrontHello, RelayRecord } from "../link/relay-records.ts";
import { createRemoteCore } from "../link/remote-core.ts";
import type { Snapshot } from "../link/snapshot.ts";
import { createStateCodec } from "../mcp/questions.ts";
import { RelayTransport } from "../mcp/relay-transport.ts";
import { serveConnection } from "../mcp/stdio.ts";
import { describeCause } from "../observe/cause.ts";
import type { RecordWriter } from "./record-writer.ts";
import { VERSION } from "./version.ts";

/** The core connects; a front can only wait for it. */
const openLink = ({ token, listener }: FrontHello) => {
  const connections = createCoreConnections(token);
  const stop = listener === null ? () => {} : acceptInherited(listener, connections.add, () => {});
  const link = createLinkClient({ token, connect: connections.take });
  return {
    link,
    close: (): void => {
      stop();
      link.close();
      connections.close();
    },
  };
};

const RETRY_MS = 50;

/** Agrees with each core on how to speak to it, before anything else is asked of it. */
const createHandshake = (
  link: LinkClient,
  availability: ReturnType<typeof createCoreAvailability>,
  { send }: RecordWriter,
) => {
  let expected: number | undefined;
  const greet = async (generation: number): Promise<void> => {
    try {
      await link.greet();
    } catch (thrown) {
      if (expected !== generation) return;
      if (thrown instanceof LinkBroken) setTimeout(() => void greet(generation), RETRY_MS);
      else await send("F", []);
      return;
    }
    if (expected !== generation) return;
    availability.up(generation);
    await send("O", [generation]);
  };
  return {
    up: (generation: number): void => {
      if (expected === generation) return;
      expected = generation;
      void greet(generation);
    },
    down: (): void => {
      expected = undefined;
      availability.down();
    },
  };
};

/** Everything of a front, once it knows who it is. */
const openDoor = (hello: FrontHello, writer: RecordWriter) => {
  const availability = createCoreAvailability();
  const { link, close } = openLink(hello);
  const asked = new Set<number>();
  const log = createFrontLog(link);
  const events = createFrontEvents({
    link: () => link,
    seen: () => hello.seen,
    onSeen: (text) => void writer.send("V", [text]),
    isCurrent: availability.isCurrent,
  });
  const transport = new RelayTransport({
    front: hello.front,
    send: writer.send,
    isAsked: (n) => asked.has(n),
    onRefused: log.refused,
  });
  const core = createRemoteCore({
    link,
    snapshot: events.snapshot,
    reachable: async () => {
      await writer.room();
      await availability.reachable();
    },
    onBroken: availability.broken,
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
  availability.onUp((generation) => void events.run(generation));
  const door = serveConnection(
    {
      core,
      version: VERSION,
      codec: createStateCodec(() => Buffer.from(hello.stateKey, "base64")),
      onError: (error) => log.warn(`message refused: ${JSON.stringify(describeCause(error))}`),
      newId,
    },
    transport,
    () => hello.session,
    events.known,
  );
  return { core: createHandshake(link, availability, writer), events, transport, door, log, close };
};

/** The part of a front that speaks the whole protocol, with the MCP library. */
export const openFrontDoor = (hello: FrontHello, writer: RecordWriter) => {
  const { core, events, transport, door, log, close } = openDoor(hello, writer);
  return {
    take: (record: RelayRecord): void => {
      const { kind, fields, payload } = record;
      if (kind === "U") core.up(Number(fields[0]));
      else if (kind === "N") core.down();
      else if (kind === "C") events.learn(JSON.parse(payload.toString("utf8")) as Snapshot);
      else if (kind === "P") void writer.send("H", []);
      else transport.receive(record);
    },
    close: async (): Promise<void> => {
      await log.close();
      await door.close();
      core.down();
      close();
    },
  };
};

export type FrontDoor = ReturnType<typeof openFrontDoor>;
