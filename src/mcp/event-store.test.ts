import type { EventId, JSONRPCMessage } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { createEventStores, type SessionEvents } from "./event-store.ts";

const message = (id: number, chars = 0): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  result: { text: "x".repeat(chars) },
});

/** The ids of the messages that a client gets which saw this event last; undefined: the event is not known any more. */
const missedAfter = async (events: SessionEvents, last: EventId): Promise<unknown[] | undefined> => {
  const sent: unknown[] = [];
  const send = async (_id: EventId, { id }: { id?: unknown }): Promise<void> => void sent.push(id);
  const stream = await events.replayEventsAfter(last, { send: send as never });
  return stream === "" ? undefined : sent;
};

describe("REQ-D25 FAIL-J9 events for clients that lost their stream", () => {
  test("what came later on the same stream is sent again, priming events aside", async () => {
    const events = createEventStores()("ann");
    const first = await events.storeEvent("s", message(1));
    await events.storeEvent("other", message(2));
    await events.storeEvent("s", {} as JSONRPCMessage);
    await events.storeEvent("s", message(3));
    expect(await missedAfter(events, first)).toEqual([3]);
  });

  test("the sessions of a principal share one weight: its oldest events go first, never another's", async () => {
    const open = createEventStores(10_000);
    const [one, two, other] = [open("bob"), open("bob"), open("ann")];
    const kept = await other.storeEvent("s", message(1, 9000));
    const oldest = await one.storeEvent("s", message(1, 4000));
    const second = await one.storeEvent("s", message(2, 4000));
    const third = await two.storeEvent("s", message(3, 4000));
    const known = () =>
      Promise.all([missedAfter(one, oldest), missedAfter(one, second), missedAfter(two, third)]);
    expect(await known()).toEqual([undefined, [], []]);
    // One that is larger than everything is kept, alone.
    const huge = await two.storeEvent("s", message(4, 20_000));
    expect(await known()).toEqual([undefined, undefined, undefined]);
    expect(await missedAfter(two, huge)).toEqual([]);
    expect(await missedAfter(other, kept)).toEqual([]);
  });

  test("in all, whoever holds the most loses their oldest first", async () => {
    const open = createEventStores(10_000, 15_000);
    const [ann, ...floods] = [open("ann"), open("bob"), open("bob"), open("eve")];
    const kept = [await ann.storeEvent("s", message(1, 1500)), await ann.storeEvent("s", message(2, 1500))];
    const ids: string[] = [];
    for (let round = 0; round < 10; round++)
      for (const one of floods) ids.push(await one.storeEvent("s", message(3, 1000)));
    expect(await missedAfter(ann, kept[0] ?? "")).toEqual([2]);
    const known = await Promise.all(ids.map((id, at) => floods[at % 3]?.getStreamIdForEventId(id)));
    expect(known.filter((stream) => stream !== undefined)).toHaveLength(11);
    // Of each, the newest.
    expect(known.slice(-3)).toEqual(["s", "s", "s"]);
  });

  test("what comes after the end of a session is not kept", async () => {
    const events = createEventStores()("bob");
    events.clear();
    const late = await events.storeEvent("s", message(1));
    expect(await events.getStreamIdForEventId(late)).toBeUndefined();
  });

  test("a session that has ended weighs nothing", async () => {
    const open = createEventStores(10_000);
    const [ended, lives] = [open("bob"), open("bob")];
    const first = await lives.storeEvent("s", message(1, 3000));
    await ended.storeEvent("s", message(2, 6000));
    ended.clear();
    await lives.storeEvent("s", message(3, 6000));
    expect(await missedAfter(lives, first)).toEqual([3]);
  });
});
