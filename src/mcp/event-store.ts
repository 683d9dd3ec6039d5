import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Events that are kept of one session for a client that lost its stream; the oldest are dropped first. */
const MAX_EVENTS = 256;
/** Of all sessions of one principal together; one event that is larger is still kept. */
const MAX_BYTES_EACH = 32 * 1024 * 1024;
/** Of all principals: whoever holds the most loses their oldest, so that nobody loses theirs to somebody else's flood. */
const MAX_BYTES = 4 * MAX_BYTES_EACH;

interface KeptEvent {
  readonly streamId: string;
  /** In bytes, because those can be counted. */
  readonly message: Buffer;
  readonly drop: () => void;
}

/** The events of a principal's sessions, oldest first. */
interface Share {
  readonly events: Set<KeptEvent>;
  bytes: number;
}

export interface SessionEvents extends EventStore {
  getStreamIdForEventId(id: string): Promise<string | undefined>;
  /** The session has ended. */
  clear(): void;
}

const createShares = (maxBytesEach: number, maxBytes: number) => {
  const shares = new Map<string, Share>();
  let bytes = 0;
  /** Never the newest of all: a client may have missed it at this moment. */
  const oldestOfLargest = (newest: KeptEvent): KeptEvent | undefined => {
    const [largest] = [...shares.values()].sort((one, other) => other.bytes - one.bytes);
    const [oldest] = largest?.events ?? [];
    return oldest === newest ? undefined : oldest;
  };
  return {
    add: (owner: string, event: KeptEvent): void => {
      const share = shares.get(owner) ?? { events: new Set(), bytes: 0 };
      shares.set(owner, share);
      share.events.add(event);
      share.bytes += event.message.length;
      bytes += event.message.length;
      for (const oldest of share.events) {
        if (share.bytes <= maxBytesEach || oldest === event) break;
        oldest.drop();
      }
      while (bytes > maxBytes) {
        const oldest = oldestOfLargest(event);
        if (oldest === undefined) break;
        oldest.drop();
      }
    },
    remove: (owner: string, event: KeptEvent): void => {
      const share = shares.get(owner);
      if (share?.events.delete(event) !== true) return;
      share.bytes -= event.message.length;
      bytes -= event.message.length;
      if (share.events.size === 0) shares.delete(owner);
    },
  };
};

/**
 * The events of the streams of all sessions, so that a client that reconnects receives what it missed. Returns the way
 * to open a session's own.
 */
export const createEventStores = (maxBytesEach = MAX_BYTES_EACH, maxBytes = MAX_BYTES) => {
  const shares = createShares(maxBytesEach, maxBytes);
  return (owner: string): SessionEvents => {
    const events = new Map<string, KeptEvent>();
    let next = 1;
    let hasEnded = false;
    return {
      storeEvent: async (streamId, message) => {
        const id = `${streamId}_${next++}`;
        // A call may end after its session, for which nobody would clear again.
        if (hasEnded) return id;
        const event: KeptEvent = {
          streamId,
          message: Buffer.from(JSON.stringify(message)),
          drop: () => {
            events.delete(id);
            shares.remove(owner, event);
          },
        };
        events.set(id, event);
        shares.add(owner, event);
        const [oldest] = events.values();
        if (events.size > MAX_EVENTS) oldest?.drop();
        return id;
      },
      getStreamIdForEventId: async (id) => events.get(id)?.streamId,
      replayEventsAfter: async (lastId, { send }) => {
        const streamId = events.get(lastId)?.streamId;
        if (streamId === undefined) return "";
        let past = false;
        for (const [id, event] of events) {
          if (past && event.streamId === streamId) {
            const message = JSON.parse(event.message.toString()) as JSONRPCMessage;
            // A priming event has an empty message, which is not repeated.
            if (Object.keys(message).length > 0) await send(id, message);
          }
          past ||= id === lastId;
        }
        return streamId;
      },
      clear: () => {
        hasEnded = true;
        for (const event of [...events.values()]) event.drop();
      },
    };
  };
};
