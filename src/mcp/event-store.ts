import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Events that are kept of one session for a client that lost its stream; the oldest are dropped first. */
const MAX_EVENTS = 256;
/** Of all sessions of one principal together; one event that is larger is still kept. */
const MAX_BYTES_EACH = 32 * 1024 * 1024;

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
  /** The session has ended. */
  clear(): void;
}

const createShares = (maxBytes: number) => {
  const shares = new Map<string, Share>();
  return {
    add: (owner: string, event: KeptEvent): void => {
      const share = shares.get(owner) ?? { events: new Set(), bytes: 0 };
      shares.set(owner, share);
      share.events.add(event);
      share.bytes += event.message.length;
      for (const oldest of share.events) {
        if (share.bytes <= maxBytes || oldest === event) break;
        oldest.drop();
      }
    },
    remove: (owner: string, event: KeptEvent): void => {
      const share = shares.get(owner);
      if (share?.events.delete(event) !== true) return;
      share.bytes -= event.message.length;
      if (share.events.size === 0) shares.delete(owner);
    },
  };
};

/**
 * The events of the streams of all sessions, so that a client that reconnects receives what it missed. Returns the way
 * to open a session's own.
 */
export const createEventStores = (maxBytes = MAX_BYTES_EACH) => {
  const shares = createShares(maxBytes);
  return (owner: string): SessionEvents => {
    const events = new Map<string, KeptEvent>();
    let next = 1;
    return {
      storeEvent: async (streamId, message) => {
        const id = `${streamId}_${next++}`;
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
        for (const event of [...events.values()]) event.drop();
      },
    };
  };
};
