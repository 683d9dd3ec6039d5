import { lookup } from "node:dns/promises";
import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import { openModelServer, sendJson } from "../../../test/model-server.ts";
import type { EgressReach } from "../../policy/egress.ts";
import { isLoopbackAddress } from "../../policy/egress.ts";
import { createOutbound, createReachLookup } from "./outbound.ts";

const outbound = (url: string, more: { reach?: EgressReach; maxResponseBytes?: number } = {}) =>
  createOutbound({ origin: new URL(url).origin, reach: "anywhere", maxResponseBytes: 1000, ...more });

describe("a call to another server", () => {
  test("sends what it was given and gives back what came", async () => {
    const server = await openModelServer((response) =>
      sendJson(response, { a: 1 }, 201, { "x-more": ["1", "2"] }),
    );
    const response = await outbound(server.url)(`${server.url}/p?q=1`, {
      method: "POST",
      headers: { "x-one": "1" },
      body: '{"größe":"😀"}',
    });
    expect([response.status, await response.json(), response.headers.get("x-more")]).toEqual([
      201,
      { a: 1 },
      "1, 2",
    ]);
    expect(server.requests[0]).toMatchObject({
      path: "/p?q=1",
      headers: { "x-one": "1" },
      body: { größe: "😀" },
    });
  });

  test("an answer without a body, and one with a status that no answer has", async () => {
    const server = await openModelServer((response, { path }) => {
      if (path === "/none") response.writeHead(204).end();
      else response.socket?.end("HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n");
    });
    const send = outbound(server.url);
    expect((await send(`${server.url}/none`)).status).toBe(204);
    await expect(send(`${server.url}/odd`)).rejects.toBeInstanceOf(RangeError);
  });

  test("FAIL-G6: a server that changes the protocol, or hangs up, is a failure and not a silence", async () => {
    const server = await openModelServer((response, { path }) => {
      if (path === "/closed") response.socket?.end();
      else response.socket?.write("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
    });
    const send = outbound(server.url);
    for (const path of ["/upgraded", "/closed"])
      await expect(send(`${server.url}${path}`)).rejects.toBeInstanceOf(Error);
  });

  test("FAIL-G5: another origin is not spoken to, whatever the library asks for", async () => {
    const own = await openModelServer((response) => sendJson(response, {}));
    const other = await openModelServer((response) => sendJson(response, {}));
    const send = outbound(own.url);
    for (const url of [other.url, `http://localhost:${own.port}`, own.url.replace("http:", "https:")]) {
      await expect(send(url)).rejects.toMatchObject({ code: "egress_denied" });
    }
    expect(other.connections() + own.connections()).toBe(0);
  });

  test("the bound is on the whole answer, also on one that says it is shorter", async () => {
    const server = await openModelServer((response, { path }) => {
      response.writeHead(200).end("x".repeat(path === "/fits" ? 1000 : 1001));
    });
    const send = outbound(server.url);
    expect((await (await send(`${server.url}/fits`)).text()).length).toBe(1000);
    await expect((await send(`${server.url}/more`)).text()).rejects.toMatchObject({ code: "provider_error" });
  });

  test("a body that nobody reads on is let go of when the caller gives up", async () => {
    const server = await openModelServer((response) => {
      response.writeHead(200);
      response.write("some");
    });
    const controller = new AbortController();
    const response = await outbound(server.url)(server.url, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(response.text()).rejects.toThrow();
    await server.hungUp;
    await expect(outbound(server.url)(server.url, { signal: AbortSignal.abort() })).rejects.toThrow();
  });
});

describe("names under the rules of reach", () => {
  const answer = (
    found: readonly string[],
    all: boolean,
    reach: "loopback" | "private" = "loopback",
  ): Promise<unknown> =>
    new Promise((done) => {
      createReachLookup(reach, (_name, _options, reply) =>
        reply(
          null,
          found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        ),
      )("name", { all }, (error, address) => done(error ?? address));
    });

  test.each([
    [["8.8.8.8"]],
    [["127.0.0.1", "8.8.8.8"]],
    [["::1", "2606:4700::1"]],
    [["::ffff:10.0.0.1"]],
    [["0.0.0.0"]],
    [["169.254.169.254"]],
    [[]],
  ])("REQ-L2 FAIL-G5: a name that stands for %j is refused", async (found) => {
    for (const all of [true, false]) {
      expect(await answer(found, all)).toMatchObject({ code: "egress_denied" });
    }
  });

  test.each([
    [["8.8.8.8"]],
    [["10.0.0.7", "8.8.8.8"]],
    [["fd00::1", "2606:4700::1"]],
    [["::ffff:8.8.8.8"]],
    [["172.32.0.1"]],
    [["100.64.0.1"]],
    [["169.254.169.254"]],
    [["0.0.0.0"]],
    [[]],
  ])(
    "REQ-L2 FAIL-G5: the name of a private host that stands for %j is refused after it was looked up",
    async (found) => {
      for (const all of [true, false]) {
        const refused = await answer(found, all, "private");
        expect(refused).toMatchObject({ code: "egress_denied", message: expect.stringContaining("private") });
      }
    },
  );

  test("the name of a private host is connected to by the private address that was judged", async () => {
    for (const address of ["10.0.0.7", "192.168.1.2", "172.16.0.1", "fd00::1", "127.0.0.1"])
      expect(await answer([address], false, "private")).toBe(address);
  });

  test("one that stands for loopback alone is connected to by the address that was judged", async () => {
    expect(await answer(["127.0.0.1", "::1"], false)).toBe("127.0.0.1");
    expect(await answer(["::1"], true)).toEqual([{ address: "::1", family: 6 }]);
  });

  test("REQ-L2 FAIL-G5: this machine's own name is local only where it stands for loopback", async () => {
    const addresses = await lookup(hostname(), { all: true }).catch(() => []);
    const isLocal = addresses.length > 0 && addresses.every(({ address }) => isLoopbackAddress(address));
    const server = await openModelServer((response) => sendJson(response, {}), "0.0.0.0");
    const url = `http://${hostname()}:${server.port}`;
    const sent = outbound(url, { reach: "loopback" })(url);
    if (isLocal) expect((await sent).status).toBe(200);
    else await expect(sent).rejects.toThrow();
    expect(server.connections()).toBe(isLocal ? 1 : 0);
  });
});
