import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { download } from "./download.ts";

const RULES = { privateHosts: ["127.0.0.1"], maxBytes: 1000, timeoutMs: 5000 };

const ANSWERS: Readonly<Record<string, RequestListener>> = {
  "/page": (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>hello"),
  "/fits": (_request, response) => response.end("x".repeat(1000)),
  "/long": (_request, response) => response.end("x".repeat(1001)),
  "/named-long": (_request, response) => response.writeHead(200, { "content-length": 10 ** 12 }).write("x"),
  "/endless": (_request, response) => {
    const timer = setInterval(() => response.write("x".repeat(600)), 10);
    response.on("close", () => clearInterval(timer));
  },
  "/drips": (_request, response) => {
    const timer = setInterval(() => response.write("x"), 50);
    response.on("close", () => clearInterval(timer));
  },
  "/silent": () => undefined,
  "/cut": (_request, response) => {
    response.writeHead(200, { "content-length": 100 }).write("x");
    setTimeout(() => response.destroy(), 50);
  },
  "/plain": (_request, response) => response.socket?.end("HTTP/1.1 200 OK\r\n\r\nwhole"),
  "/plain-drips": (_request, { socket }) => {
    socket?.write("HTTP/1.1 200 OK\r\n\r\n");
    const timer = setInterval(() => socket?.write("x"), 50);
    socket?.on("close", () => clearInterval(timer));
  },
  "/plain-reset": (_request, { socket }) => {
    socket?.write("HTTP/1.1 200 OK\r\n\r\nhalf");
    setTimeout(() => socket?.resetAndDestroy(), 50);
  },
  "/garbage": (_request, response) => response.socket?.end("this is not HTTP\r\n\r\n"),
  "/zipped": (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x"),
  "/error": (_request, response) => response.writeHead(500).end("secret"),
  "/same": (_request, response) => response.writeHead(302, { location: "/page" }).end(),
  "/loop": (_request, response) => response.writeHead(302, { location: "/loop" }).end(),
  "/nowhere": (_request, response) => response.writeHead(302).end(),
  "/elsewhere": (_request, response) => response.writeHead(302, { location: "http://example.org/" }).end(),
  "/metadata": (_request, response) => response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
  "/file": (_request, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end(),
  "/other-port": (_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
};

describe("FAIL-G5 documents from a server that misbehaves", () => {
  let server: Server;
  let origin = "";
  let requests = 0;
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests++;
      ANSWERS[request.url ?? ""]?.(request, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test("a page comes with its media type and where it lies", async () => {
    const { url, mediaType, bytes } = await download(`${origin}/same`, RULES);
    expect([url, mediaType, bytes.toString()]).toEqual([`${origin}/page`, "text/html", "<p>hello"]);
    expect((await download(`${origin}/fits`, RULES)).bytes.length).toBe(1000);
  });

  test.each([
    ["/long", "file_too_large"],
    ["/named-long", "file_too_large"],
    ["/endless", "file_too_large"],
    ["/cut", "unavailable"],
    ["/garbage", "unavailable"],
    ["/zipped", "unavailable"],
    ["/error", "unavailable"],
    ["/loop", "unavailable"],
    ["/nowhere", "unavailable"],
    ["/elsewhere", "egress_denied"],
    ["/metadata", "egress_denied"],
    ["/file", "egress_denied"],
    ["/other-port", "egress_denied"],
  ])("%s: %s", async (path, code) => {
    await expect(download(`${origin}${path}`, RULES)).rejects.toMatchObject({ code });
  });

  test.each(["/silent", "/drips"])("%s ends at the deadline", async (path) => {
    const rules = { ...RULES, timeoutMs: 300, maxBytes: 10 ** 6 };
    await expect(download(`${origin}${path}`, rules)).rejects.toMatchObject({ code: "timeout" });
  });

  test("addresses that are not public are refused before a packet is sent, however they are written", async () => {
    const before = requests;
    const { port } = new URL(origin);
    for (const host of [
      "127.0.0.1",
      "2130706433",
      "0x7f.1",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0.0.0.0",
    ])
      await expect(
        download(`http://${host}:${port}/page`, { ...RULES, privateHosts: [] }),
      ).rejects.toMatchObject({ code: "egress_denied" });
    expect(requests).toBe(before);
  });

  test.each(["file:///etc/passwd", "ftp://example.org/", "http://user:key@example.org/", "nonsense"])(
    "%s is not fetched",
    async (address) => {
      await expect(download(address, RULES)).rejects.toMatchObject({ code: "invalid_args" });
    },
  );

  test("FAIL-D7 an answer without a length is whole only where its server ends it", async () => {
    expect((await download(`${origin}/plain`, RULES)).bytes.toString()).toBe("whole");
    await expect(download(`${origin}/plain-reset`, RULES)).rejects.toMatchObject({ code: "unavailable" });
    const hasty = { ...RULES, timeoutMs: 300 };
    await expect(download(`${origin}/plain-drips`, hasty)).rejects.toMatchObject({ code: "timeout" });
    const leaving = download(`${origin}/plain-drips`, RULES, AbortSignal.timeout(300));
    await expect(leaving).rejects.toMatchObject({ code: "cancelled" });
  });

  test("a caller that leaves ends it", async () => {
    const controller = new AbortController();
    const pending = download(`${origin}/silent`, RULES, controller.signal);
    setTimeout(() => controller.abort(), 50);
    await expect(pending).rejects.toMatchObject({ code: "cancelled" });
  });
});
