import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp } from "../../test/app.ts";
import { openRlmStand } from "../../test/rlm-stand.ts";

const CLASSIC = '[mcp]\nmode = "classic"\n';

const statusOf = async (app: TestApp, name: string) =>
  (await app.core.checkHealth()).checks.find((check) => check.name === name);

describe("REQ-I7: a circuit breaker is about its own backend", () => {
  test("a provider that keeps failing is left alone, and nothing else is", async () => {
    const stand = await openRlmStand({ root: () => 500 }, { files: { "log.txt": "some text\n" } });
    const query = () => stand.query({ task: "what is it", path: "log.txt" });
    for (let at = 0; at < 5; at++) await query();
    const asked = stand.server.requests.length;
    expect(asked).toBeGreaterThanOrEqual(5);
    const refused = await query();
    expect(JSON.stringify(refused)).toContain("models of openai has failed 5 times within a minute");
    expect(stand.server.requests).toHaveLength(asked);
    expect(await statusOf(stand, "models_of_openai")).toMatchObject({ status: "degraded" });
    expect(await stand.text("read_file", { path: "log.txt" })).toContain("some text");
  });

  test("a flow's failed step keeps its code, and says nothing about knowledge bases", async () => {
    const app = await openTestApp({
      config: `${CLASSIC}[mcp.kb]\nflows = "flows"\n`,
      files: {
        "flows/look.toml":
          'id = "look"\n[[steps]]\nid = "read"\nkind = "tool"\ntool = "read_file"\nargs = { path = "missing.md" }\n',
      },
    });
    const ask = async () => {
      const canAsk = (): boolean => true;
      const asked = await app.ask("kb_compose_flow", { flow_id: "look" }, { canAsk });
      if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
      const answers = { grant: { action: "accept" } };
      return app.ask("kb_compose_flow", { flow_id: "look" }, { canAsk, state: asked.state, answers });
    };
    for (let at = 0; at < 6; at++)
      expect(await ask()).toMatchObject({ kind: "error", error: { code: "file_not_found" } });
    expect(await app.text("kb_list_collections")).toBe("no knowledge bases");
  });

  test("a knowledge base without a promoted version is no failure of knowledge bases", async () => {
    const app = await openTestApp({ config: CLASSIC });
    const { store } = await (await app.engines()).knowledgeEngine();
    await store.createCollection("hand", "");
    const search = () => app.ask("kb_hybrid_search", { collection: "hand", query: "x" });
    for (let at = 0; at < 6; at++)
      expect(await search()).toMatchObject({ error: { hint: expect.stringContaining("llmc kb promote") } });
    expect(await app.text("kb_list_collections")).toContain("hand");
  });

  test("a question to the user is no failure", async () => {
    const app = await openTestApp({
      config: `${CLASSIC}[mcp.security]\npolicy_files = ["p/*.cedar"]\n`,
      files: {
        "p/ask.cedar":
          '@id("ask") forbid(principal, action == Action::"kb_hybrid_search", resource is Collection) unless { context.granted };',
      },
    });
    const search = () =>
      app.ask("kb_hybrid_search", { collection: "hand", query: "x" }, { canAsk: () => true });
    for (let at = 0; at < 6; at++) expect((await search()).kind).toBe("questions");
    expect(await app.text("kb_list_collections")).toBe("no knowledge bases");
  });
});
