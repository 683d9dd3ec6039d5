import { expect, test } from "vitest";
import { createFrontEvents } from "./front-events.ts";
import { createGate } from "./gate.ts";
import type { LinkClient } from "./link-client.ts";

const nothing = (): void => {};

/** A core to which streams of events can be opened, each of which ends when a test says so. */
const playCore = () => {
  const streams: ReturnType<typeof Promise.withResolvers<void>>[] = [];
  const link: Pick<LinkClient, "listen"> = {
    listen: () => {
      const stream = Promise.withResolvers<void>();
      streams.push(stream);
      return stream.promise;
    },
  };
  const gate = createGate();
  const events = createFrontEvents({
    link: () => link as LinkClient,
    seen: () => "",
    onSeen: nothing,
    isCurrent: gate.isCurrent,
  });
  gate.onUp((generation) => void events.run(generation));
  return { gate, streams };
};

test("REQ-I9 FAIL-D7 changes are followed again after connections broke, as long as the core is there", async () => {
  const { gate, streams } = playCore();
  gate.up(1);
  await expect.poll(() => streams.length).toBe(1);
  const broken = setInterval(gate.broken, 1);
  streams[0]?.reject(new Error("broken"));
  await expect.poll(() => streams.length).toBe(2);
  clearInterval(broken);
  await gate.reachable();
});

test("REQ-I9 a core that is gone is not followed any more, and the next one is", async () => {
  const { gate, streams } = playCore();
  gate.up(1);
  gate.down();
  const asked = gate.reachable();
  streams[0]?.resolve();
  gate.up(2);
  await asked;
  expect([gate.isCurrent(1), gate.isCurrent(2)]).toEqual([false, true]);
  await expect.poll(() => streams.length).toBe(2);
});
