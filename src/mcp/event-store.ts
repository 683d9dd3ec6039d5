import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Events that are kept for a client that lost its stream; the oldest are dropped first. */
const MAX_EVENTS = 256;

/** The events of a session's streams, so that a client that reconnects receives what it missed. */
export const createEventStore = (): EventStore => {
  const events = new Map<string, { readonly streamId: string; readonly message: JSONRPCMessage }>();
  let next = 1;
  return {
    storeEvent: async (streamId, message) => {
      const id = `${streamId}_${next++}`;
      events.set(id, { streamId, message });
      const [oldest] = events.keys();
      if (events.size > MAX_EVENTS && oldest !== undefined) events.delete(oldest);
      return id;
    },
    getStreamIdForEventId: async (id) => events.get(id)?.streamId,
    replayEventsAfter: async (lastId, { send }) => {
      const streamId = events.get(lastId)?.streamId;
      if (streamId === undefined) return "";
      let past = false;
      for (const [id, event] of events) {
        // A priming event has an empty message, which is not repeated.
        if (past && event.streamId === streamId && Object.keys(event.message).length > 0)
          await send(id, event.message);
        past ||= id === lastId;
      }
      return streamId;
    },
  };
};
