import { describe, expect, test } from "vitest";
import { createInstallation, type Installation } from "../installation.ts";
import { type ServerProcess, textOf } from "../server.ts";
import { confinedFrontsOf, coreOf, isAlive } from "../server-parts.ts";
import { createWorkspace } from "../workspace.ts";

const start = async () => {
  const installation = await createInstallation();
  const workspace = await createWorkspace({ "a.txt": "hello\n" });
  const server = await workspace.start({
    command: [installation.launcher],
    args: ["--set", "mcp.subprocess=true"],
  });
  await read(server);
  const front = confinedFrontsOf(server)[0] ?? 0;
  const dispose = async (): Promise<void> => {
    await workspace.remove();
    await installation[Symbol.asyncDispose]();
  };
  return { installation, server, front, [Symbol.asyncDispose]: dispose };
};

const read = async (server: ServerProcess): Promise<string> =>
  textOf(await server.call("read_file", { path: "a.txt" }, 30_000));

/** What is started from now on speaks another version of the link. */
const upgradeTo = (installation: Installation, major: number, minor: number): Promise<void> =>
  installation.edit(
    "src/link/schema-version.ts",
    /major: \d+, minor: \d+/,
    `major: ${major}, minor: ${minor}`,
  );

const DISCARDED = "a front was discarded";

describe("REQ-I3 REQ-I9 an upgrade of what is installed, while the server runs", { timeout: 60_000 }, () => {
  test("a newer front speaks the older version of its core, and takes over", async () => {
    await using setup = await start();
    const { installation, server, front } = setup;
    await upgradeTo(installation, 1, 3);
    server.process.kill("SIGHUP");
    while (isAlive(front)) expect(await read(server)).toBe("hello\n");
    expect(await read(server)).toBe("hello\n");
    expect(server.stderr).not.toContain(DISCARDED);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });

  test("a newer core serves the older front that is there", async () => {
    await using setup = await start();
    const { installation, server, front } = setup;
    await upgradeTo(installation, 1, 3);
    process.kill(coreOf(server) ?? 0, "SIGKILL");
    expect(await read(server)).toBe("hello\n");
    expect(confinedFrontsOf(server)).toEqual([front]);
  });

  test("a front that cannot speak to the core is discarded, and the old one goes on", async () => {
    await using setup = await start();
    const { installation, server, front } = setup;
    const core = coreOf(server);
    await upgradeTo(installation, 2, 0);
    server.process.kill("SIGHUP");
    await server.until(() => server.stderr.includes(DISCARDED), "the line on stderr");
    expect(await read(server)).toBe("hello\n");
    expect([...confinedFrontsOf(server), coreOf(server)]).toEqual([front, core]);
    // The old one ends: nothing that is installed can speak to that core, so the core is started again as well.
    process.kill(front, "SIGKILL");
    expect(await read(server)).toBe("hello\n");
    expect(coreOf(server)).not.toBe(core);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });

  test("a core that the front cannot speak to gets another front", async () => {
    await using setup = await start();
    const { installation, server, front } = setup;
    await upgradeTo(installation, 2, 0);
    process.kill(coreOf(server) ?? 0, "SIGKILL");
    expect(await read(server)).toBe("hello\n");
    await server.until(() => !isAlive(front), "the end of the old front");
    expect(server.stderr).not.toContain(DISCARDED);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});
