import { describe, expect, test } from "vitest";
import { failureOf, textOf } from "../server.ts";
import { createWorkspace, toolModule, WITH_MODULES } from "../workspace.ts";

const MARKER = "MARKER-7f3a";

/** Every way in which the code of a module can fail, with a message that nobody may see. */
const THROWING = toolModule(`
  const boom = () => new Error("${MARKER} read from /root/private/key");
  tool("throw_async", async () => { throw boom(); });
  tool("throw_now", () => { throw boom(); });
  tool("throw_text", async () => { throw "${MARKER}"; });
  tool("throw_nothing", async () => { throw undefined; });
  tool("throw_nested", async () => { throw new Error("${MARKER}", { cause: boom() }); });
  tool("throw_code", async () => { throw Object.assign(boom(), { code: -32000, data: { path: "/root/private" } }); });
  tool("throw_getter", async () => { throw { get message() { throw boom(); } }; });
  tool("break_render", async () => ({ toJSON() { throw boom(); } }));
  tool("throw_in_check", () => 1, kit.z.strictObject({}).refine(() => { throw boom(); }));
  kit.tool({
    name: "break_schema",
    description: "Its output is not what it says.",
    effect: "read",
    input: kit.z.strictObject({}),
    output: kit.z.object({ n: kit.z.int() }),
    run: async () => ({ n: "${MARKER}" }),
    render: () => "",
  });
  tool("stray_promise", () => { Promise.reject(boom()); return "done"; });
  kit.prompt({
    name: "throwing",
    arguments: [{ name: "a", complete: () => { throw boom(); } }],
    get: async () => { throw boom(); },
  });
  kit.resource({ uri: "throw://one", name: "one", read: async () => { throw boom(); } });
  kit.resourceTemplate({
    uriTemplate: "throw://any/{name}",
    name: "any",
    read: async () => { throw boom(); },
    complete: () => { throw boom(); },
  });
`);

const TOOLS = [
  "throw_async",
  "throw_now",
  "throw_text",
  "throw_nothing",
  "throw_nested",
  "throw_code",
  "throw_getter",
  "break_render",
  "throw_in_check",
  "break_schema",
];

const REQUESTS = [
  { method: "prompts/get", params: { name: "throwing" } },
  { method: "resources/read", params: { uri: "throw://one" } },
  { method: "resources/read", params: { uri: "throw://any/x" } },
  {
    method: "completion/complete",
    params: { ref: { type: "ref/prompt", name: "throwing" }, argument: { name: "a", value: "" } },
  },
  {
    method: "completion/complete",
    params: {
      ref: { type: "ref/resource", uri: "throw://any/{name}" },
      argument: { name: "name", value: "" },
    },
  },
];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-/;

/** The record in the log, which is where the detail may be looked for. */
const isLogged = (stderr: string, correlationId: unknown): boolean =>
  stderr.split("\n").some((line) => line.includes('"level":"error"') && line.includes(String(correlationId)));

describe("FAIL-D8 an internal exception", () => {
  test("is a correlation id for the client: no message, no stack, no path, on neither stream", async () => {
    await using workspace = await createWorkspace({ "mods/throwing.mjs": THROWING });
    const server = await workspace.start({ args: WITH_MODULES });
    for (const tool of TOOLS) {
      const result = await server.call(tool);
      const { meta } = failureOf(result);
      expect(meta, tool).toMatchObject({ error_code: "internal_error", retryable: false });
      expect(meta.correlation_id).toMatch(UUID);
      expect(textOf(result), tool).not.toMatch(/\/root|\.mjs|\bat /);
      await server.until(() => isLogged(server.stderr, meta.correlation_id), `${tool} in the log`);
    }
    for (const { method, params } of REQUESTS) {
      const { error } = await server.request(method, params);
      expect(error, method).toMatchObject({ code: -32603, data: { error_code: "internal_error" } });
      const id = (error?.data as { correlation_id: string } | undefined)?.correlation_id;
      expect(id).toMatch(UUID);
      await server.until(() => isLogged(server.stderr, id), `${method} in the log`);
    }
    expect(textOf(await server.call("stray_promise"))).toBe('"done"');
    await server.until(
      () => server.stderr.includes("unhandled promise rejection"),
      "the stray promise in the log",
    );
    expect((await server.call("health")).structuredContent).toMatchObject({ data: { ok: true } });
    await server.stop();
    expect(JSON.stringify(server.messages)).not.toContain(MARKER);
    expect(JSON.stringify(server.messages)).not.toContain("/root/private");
    expect(server.stderr).not.toContain(MARKER);
    expect(server.strays).toEqual([]);
  });

  // Known: describeCause takes lines of the message for stack frames when they look like some.
  test("with a message of several lines leaves none of them in the log", async () => {
    const source = toolModule(
      `tool("lines", async () => { throw new Error("first\\n    at ${MARKER} (second)"); });`,
    );
    await using workspace = await createWorkspace({ "mods/lines.mjs": source });
    const server = await workspace.serve({ args: WITH_MODULES });
    const { meta } = failureOf(await server.call("lines"));
    await server.until(() => isLogged(server.stderr, meta.correlation_id), "the record");
    expect(server.stderr).not.toContain(MARKER);
  });

  // Known: nothing handles uncaughtException, so Node prints message and source line, and the session ends.
  test("outside of any call does not end the session, and is logged without its message", async () => {
    const source = toolModule(
      `tool("later", () => { setTimeout(() => { throw new Error("${MARKER}"); }, 1); return 1; });`,
    );
    await using workspace = await createWorkspace({ "mods/later.mjs": source });
    const server = await workspace.start({ args: WITH_MODULES });
    await server.call("later");
    await server.until(() => server.stderr.includes('"level":"error"') || server.hasExited, "the record");
    expect(await server.request("ping")).toHaveProperty("result");
    expect(server.stderr).not.toContain(MARKER);
  });
});
