import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { serveControlFrames } from "./web-socket-control.ts";

const PING_MS = 30_000;

test.each([
  { client: "answers pings", reads: true, outcome: "open" },
  { client: "sends pongs and reads nothing", reads: false, outcome: 1006 },
])("FAIL-J6: a client that $client: $outcome", async ({ reads, outcome }) => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", autoPong: false });
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const accepted = new Promise<WebSocket>((resolve) => server.once("connection", resolve));
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => client.terminate());
  const closed = new Promise<number>((resolve) => client.once("close", resolve));
  await new Promise((resolve) => client.once("open", resolve));
  const served = await accepted;
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  onTestFinished(serveControlFrames(served, { backlogBytes: 1000, onFlood: () => {} }));
  if (!reads) client.pause();
  for (let round = 0; round < 3 && served.readyState === served.OPEN; round++) {
    client.pong();
    await sleep(50);
    vi.advanceTimersByTime(PING_MS);
    await sleep(50);
  }
  client.resume();
  expect(await Promise.race([closed, sleep(200).then(() => "open")])).toBe(outcome);
});
