import { expect, test } from "vitest";
import { createCoreAvailability } from "./core-availability.ts";
import { createFrontEvents } from "./front-events.ts";
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
  const availability = createCoreAvailability();
  const events = createFrontEvents({
    link: () => link as LinkClient,
    seen: () => "",
    onSeen: nothing,
    isCurrent: availability.isCurrent,
  });
  availability.onUp((generation) => void events.run(generation));
  return { availability, streams };
};

test("REQ-I9 FAIL-D7 changes are followed again after connections broke, as long as the core is there", async () => {
  const { availability, streams } = playCore();
  availability.up(1);
  await expect.poll(() => streams.length).toBe(1);
  const broken = setInterval(availability.broken, 1);
  streams[0]?.reject(new Error("broken"));
  await expect.poll(() => streams.length).toBe(2);
  clearInterval(broken);
  await availability.reachable();
});

test("REQ-I9 a core that is gone is not followed any more, and the next one is", async () => {
  const { availability, streams } = playCore();
  availability.up(1);
  availability.down();
  const asked = availability.reachable();
  streams[0]?.resolve();
  availability.up(2);
  await asked;
  expect([availability.isCurrent(1), availability.isCurrent(2)]).toEqual([false, true]);
  await expect.poll(() => streams.length).toBe(2);
});
