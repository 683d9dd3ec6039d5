import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Events kept for a client that lost its stream; the oldest fall out first. */
const MAX_EVENTS = 256;

/** What was sent on a session's streams, so that a client can come back for what it missed. Lives as long as its session. */
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
        // A priming event carries no message worth repeating.
        if (past && event.streamId === streamId && Object.keys(event.message).length > 0)
          await send(id, event.message);
        past ||= id === lastId;
      }
      return streamId;
    },
  };
};
