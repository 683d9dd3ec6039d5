import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { toLlmcError } from "../../base/error.ts";
import type { ByteBudget } from "../../link/byte-budget.ts";
import { createDirectInput, createPassedOnInput, type HttpInput } from "./input.ts";
import { countUnfinished } from "./unfinished-messages.ts";

const MAX_BYTES = 100_000;

const listen = async (server: Server): Promise<number> => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
};

const DOORS: readonly [name: string, input: HttpInput, peers: number][] = [
  ["of clients", createDirectInput(3 * MAX_BYTES), 3],
  ["of a front, which may have been taken over", createPassedOnInput(3 * MAX_BYTES).input, 18],
];

test.each(DOORS)(
  "FAIL-J9 FAIL-H1 bodies %s that are begun and not ended have a bound together",
  async (_, input, peers) => {
    const codes: string[] = [];
    const server = createServer((request, response) => {
      input
        .readBody(request, MAX_BYTES)
        .then(
          () => "read",
          (thrown: unknown) => toLlmcError(thrown).code,
        )
        .then((code) => {
          codes.push(code);
          response.end();
        });
    });
    const port = await listen(server);
    const begin = async (): Promise<Socket> => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      const piece = "x".repeat(MAX_BYTES - 1);
      socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${MAX_BYTES}\r\n\r\n"${piece.slice(1)}`);
      return socket;
    };
    const sockets = await Promise.all(Array.from({ length: peers + 1 }, begin));
    await expect.poll(() => codes).toEqual(["busy"]);
    for (const socket of sockets) socket.write('"');
    await expect.poll(() => codes.filter((code) => code === "read")).toHaveLength(peers);
    const again = await begin();
    again.write('"');
    await expect.poll(() => codes.filter((code) => code === "read")).toHaveLength(peers + 1);
    for (const socket of [...sockets, again]) socket.destroy();
    server.close();
  },
);

test("FAIL-J9 a WebSocket counts what it has of a message that has not ended, and nothing when it is idle", async () => {
  let held = 0;
  const budget: ByteBudget = {
    take: (bytes) => {
      if (held + bytes > MAX_BYTES) throw new Error("full");
      held += bytes;
    },
    give: (bytes) => {
      held -= bytes;
    },
  };
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const seen: string[] = [];
  server.on("upgrade", (request, stream, head) => {
    sockets.handleUpgrade(request, stream, head, (socket) => {
      countUnfinished(socket, stream, budget, () => socket.terminate());
      socket.on("message", (data) => seen.push(String(data).slice(0, 1)));
    });
  });
  const client = new WebSocket(`ws://127.0.0.1:${await listen(server)}/`);
  await once(client, "open");
  for (const text of ["a".repeat(40_000), "b"]) client.send(text);
  await expect.poll(() => seen).toEqual(["a", "b"]);
  expect(held).toBe(0);
  client.send("c".repeat(60_000), { fin: false });
  await expect.poll(() => held).toBeGreaterThanOrEqual(60_000);
  client.send("c".repeat(60_000), { fin: false });
  await once(client, "close");
  await expect.poll(() => held).toBe(0);
  server.close();
});
