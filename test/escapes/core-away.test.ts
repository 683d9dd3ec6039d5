import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createInstallation } from "../installation.ts";
import { failureOf, textOf } from "../server.ts";
import { coreOf, frontOf, isAlive } from "../server-parts.ts";
import { createWorkspace } from "../workspace.ts";

/** A core that is started and never becomes ready. */
const NEVER_READY = 'process.stdin.resume().once("end", () => process.exit());\n';

/** Longer than calls wait for a core. */
const WAITED_MS = 30_000;

const LISTS = ["tools/list", "prompts/list", "resources/templates/list"] as const;

test("REQ-I9 while the core is away, lists are those of before, nothing is changed, and calls are told so", async () => {
  await using installation = await createInstallation();
  await using workspace = await createWorkspace({ "a.txt": "hello\n" });
  const server = await workspace.start({
    command: [installation.launcher],
    args: ["--mode", "classic", "--set", "mcp.subprocess=true"],
  });
  expect(textOf(await server.call("read_file", { path: "a.txt" }))).toBe("hello\n");
  const lists = async (): Promise<unknown> =>
    Promise.all(LISTS.map(async (method) => (await server.request(method)).result));
  const before = await lists();
  const [front, core = 0] = [frontOf(server), coreOf(server)];

  const program = await installation.read("src/serve-core.ts");
  await installation.write("src/serve-core.ts", NEVER_READY);
  process.kill(core, "SIGKILL");
  await server.until(() => server.stderr.includes("the core ended"), "the core's end");

  expect(await lists()).toEqual(before);
  expect((await server.request("ping")).result).toEqual({});
  const asked = [
    server.askTool("read_file", { path: "a.txt" }),
    server.askTool("linux_fs_write", { path: "b.txt", content: "x\n" }),
  ];
  for (const id of asked) {
    const failure = failureOf(await server.toolResult(id, WAITED_MS));
    expect(failure.meta).toMatchObject({
      error_code: expect.stringMatching(/^unavailable$/i),
      retryable: true,
    });
    // Neither has reached a core: there is nothing whose outcome is unknown.
    expect(failure.meta).not.toHaveProperty("outcome");
    expect(JSON.stringify(failure)).toContain("being started again");
    expect(JSON.stringify(failure)).toContain("Lists show what the core last reported");
  }

  await installation.write("src/serve-core.ts", program);
  const stuck = coreOf(server) ?? 0;
  process.kill(stuck, "SIGKILL");
  expect(textOf(await server.call("read_file", { path: "a.txt" }, WAITED_MS))).toBe("hello\n");
  await expect(readFile(join(workspace.root, "b.txt"))).rejects.toThrow("ENOENT");
  expect(isAlive(stuck)).toBe(false);
  expect(frontOf(server)).toBe(front);
  expect(await server.stop()).toEqual({ code: 0, signal: null });
}, 90_000);
