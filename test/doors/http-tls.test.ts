import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PeerCertificate, type TLSSocket, connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasOpenssl, makePair } from "../key-pairs.ts";
import { type OwnDoor, openHttpDoor, UNLIMITED } from "./http-door.ts";

describe.skipIf(!hasOpenssl)("REQ-H6: HTTPS", () => {
  let folder: string;
  let door: OwnDoor;
  const use = (name: string): void => {
    copyFileSync(join(folder, `${name}.key`), join(folder, "tls.key"));
    copyFileSync(join(folder, `${name}.crt`), join(folder, "tls.crt"));
  };
  const flags = () => [
    "--set",
    "mcp.server.tls_enabled=true",
    "--set",
    `mcp.server.tls_cert_file=${join(folder, "tls.crt")}`,
    "--set",
    `mcp.server.tls_key_file=${join(folder, "tls.key")}`,
  ];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "llmc-tls-"));
    for (const name of ["first", "second"]) makePair(folder, name);
    use("first");
    door = await openHttpDoor({ args: [...UNLIMITED, ...flags(), "--set", "mcp.server.max_connections=8"] });
  });
  afterAll(async () => {
    await door[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (agent: Agent): Promise<{ status: number; name: string; body: string }> =>
    new Promise((resolve, reject) => {
      request(`${door.url}/health`, { agent, rejectUnauthorized: false }, (response) => {
        const { CN } = ((response.socket as TLSSocket).getPeerCertificate() as PeerCertificate).subject;
        let body = "";
        response.on("data", (chunk) => {
          body += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, name: String(CN), body }));
      })
        .on("error", reject)
        .end();
    });
  const nameNow = async (): Promise<string> => (await ask(new Agent())).name;

  test("it serves HTTPS, and says so", async () => {
    expect(door.url).toMatch(/^https:/);
    expect(await ask(new Agent())).toEqual({
      status: 200,
      name: "first",
      body: '{"ok":true,"version":"v0"}',
    });
    await expect(fetch(door.url.replace("https", "http"))).rejects.toThrow();
    const old = tlsConnect({
      port: door.port,
      maxVersion: "TLSv1.1",
      minVersion: "TLSv1",
      rejectUnauthorized: false,
    });
    await expect(
      new Promise((resolve, reject) => old.once("secureConnect", resolve).once("error", reject)),
    ).rejects.toThrow();
  });

  test("a new certificate is served to new connections; open ones go on; a broken one is not taken", async () => {
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(kept)).name).toBe("first");
    use("second");
    await expect.poll(nameNow, { timeout: 10_000 }).toBe("second");
    expect(await ask(kept)).toMatchObject({ status: 200, name: "first" });
    kept.destroy();

    writeFileSync(join(folder, "tls.crt"), "not a certificate");
    await expect.poll(() => door.logs().includes("the last good one stays"), { timeout: 10_000 }).toBe(true);
    expect(await nameNow()).toBe("second");

    use("first");
    door.reload();
    await expect.poll(nameNow, { timeout: 10_000 }).toBe("first");
    expect(door.logs()).not.toContain("PRIVATE KEY");
  });

  test("FAIL-E3: silent connections do not keep others out of the handshake", async () => {
    const silent = Array.from({ length: 20 }, () =>
      tlsConnect({ port: door.port, rejectUnauthorized: false }).on("error", () => {}),
    );
    await Promise.all(
      silent.map((socket) => new Promise((done) => socket.once("secureConnect", done).once("close", done))),
    );
    expect((await ask(new Agent())).status).toBe(200);
    await expect.poll(() => silent.filter((socket) => !socket.destroyed).length).toBeLessThanOrEqual(8);
    for (const socket of silent) socket.destroy();
  });

  test("it does not start with files that are missing or no pair", async () => {
    copyFileSync(join(folder, "second.key"), join(folder, "tls.key"));
    copyFileSync(join(folder, "first.crt"), join(folder, "tls.crt"));
    await expect(openHttpDoor({ args: flags() })).rejects.toThrow("not a pair");
    rmSync(join(folder, "tls.key"));
    await expect(openHttpDoor({ args: flags() })).rejects.toThrow("tls_key_file");
  });
});
