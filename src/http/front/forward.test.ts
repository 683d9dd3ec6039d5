import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { createByteBudget } from "../../link/byte-budget.ts";
import { createHttpExchange } from "../../link/http-exchange.ts";
import { LinkBroken } from "../../link/link-broken.ts";
import { forward } from "./forward.ts";
import { headOf } from "./headers.ts";

const requestOf = (rawHeaders: readonly string[], url = "/tool") => {
  const headers: Record<string, string> = {};
  for (let i = 0; i < rawHeaders.length; i += 2)
    headers[(rawHeaders[i] ?? "").toLowerCase()] ??= rawHeaders[i + 1] ?? "";
  const socket = { remoteAddress: "10.1.2.3" };
  return { method: "POST", url, headers, rawHeaders, socket } as unknown as IncomingMessage;
};

const PEER = ["llmc-peer", "10.1.2.3"];

describe("REQ-I1 FAIL-E3 what a front passes on of a client's headers", () => {
  test.each([
    [
      "headers that nobody reads are left out",
      ["Host", "a", "Cookie", "x=1", "X-Anything", "1"],
      ["host", "a"],
    ],
    ["the operator's own token header is passed on", ["X-Own", "t", "X-Other", "u"], ["x-own", "t"]],
    [
      "headers of the protocol are, also those of arguments",
      ["Mcp-Param-Region", "x"],
      ["mcp-param-region", "x"],
    ],
    ["what came twice comes twice", ["Host", "a", "HOST", "b"], ["host", "a", "host", "b"]],
    ["no client says where it is", ["Llmc-Peer", "1.1.1.1", "llmc-refused", "x", "Expect", "y"], []],
    ["framing is the front's own", ["Content-Length", "3", "Connection", "close", "Upgrade", "h2c"], []],
  ])("%s", (_, rawHeaders, expected) => {
    expect(headOf(requestOf(rawHeaders), "x-own").headers).toEqual([...expected, ...PEER]);
  });

  test("framing that came twice is named", () => {
    const { headers } = headOf(
      requestOf(["Transfer-Encoding", "chunked", "transfer-encoding", "chunked"]),
      "",
    );
    expect(headers).toEqual([...PEER, "llmc-repeated", "transfer-encoding"]);
  });

  test("a target in absolute form names the host", () => {
    const { path, headers } = headOf(requestOf(["Host", "localhost"], "http://evil.example/tool?a=1"), "");
    expect(path).toBe("/tool?a=1");
    expect(headers).toEqual(["host", "evil.example", ...PEER]);
  });
});

const openFront = async (connect: () => Promise<Socket>): Promise<number> => {
  const exchange = createHttpExchange({ connect, maxConnections: 4 });
  const parts = {
    exchange,
    tokenHeader: () => "x-llmc-token",
    maxRequestBytes: 1000,
    bodies: createByteBudget(1000),
    newId: () => "an-id-of-the-front",
    isClosing: () => false,
  };
  const server = createServer((request, response) => forward(request, response, parts));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    exchange.close();
  });
  return (server.address() as AddressInfo).port;
};

const ask = async (port: number, method: string, body?: string) => {
  const request = httpRequest({ port, host: "127.0.0.1", method, path: "/tool" });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode, text: await text(response) };
};

test.each(["GET", "POST"])("FAIL-H2 a front whose core is not there answers %s with 503", async (method) => {
  const port = await openFront(() => Promise.reject(new LinkBroken("gone")));
  const { status, text: body } = await ask(port, method, method === "POST" ? "{}" : undefined);
  expect(status).toBe(503);
  expect(JSON.parse(body)).toMatchObject({ correlation_id: "an-id-of-the-front" });
});
