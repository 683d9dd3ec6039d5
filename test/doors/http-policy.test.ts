import { expect, test } from "vitest";
import { ANN, BOB, openTokenDoor, type Who } from "./two-tokens.ts";

const POLICY = `@id("bob-runs-nothing")
forbid(principal == Principal::"bob", action in Action::"execute", resource);
@id("ann-is-no-agent")
forbid(principal == Principal::"ann", action == Action::"stat", resource);
@id("bob-sees-no-pay")
forbid(principal == Principal::"bob", action in Action::"kb", resource == Collection::"pay");
`;

test("REQ-I4: over HTTP each token is known by its name, and its API description leaves out what it can never do", async () => {
  const door = await openTokenDoor(
    '[mcp.security]\npolicy_files = ["~/.config/llmc/policies/*.cedar", "p.cedar"]\n',
    {
      "p.cedar": POLICY,
    },
  );
  const titles = async (who: Who): Promise<string> =>
    (await fetch(`${door.url}/openapi.json`, { headers: who })).text();
  const isListed = (text: string, tool: string): boolean => text.includes(`"title":"${tool}"`);
  const [ann, bob] = [await titles(ANN), await titles(BOB)];
  expect([isListed(ann, "run_cmd"), isListed(ann, "stat")]).toEqual([true, false]);
  expect([isListed(bob, "run_cmd"), isListed(bob, "stat")]).toEqual([false, true]);
  expect(await door.ask(BOB, "run_cmd", { command: "pwd" })).toMatchObject({
    code: "FORBIDDEN",
    message: "The policy bob-runs-nothing does not allow run_cmd.",
  });
  // Without the collection and the token the command would explain another call, which is allowed.
  expect(await door.ask(BOB, "kb_stats", { collection: "pay" })).toMatchObject({
    message: 'The policy bob-sees-no-pay does not allow knowledge base "pay".',
    hint: expect.stringContaining("llmc policy explain kb_stats --collection pay --principal bob shows why"),
  });
  expect(JSON.stringify(await door.ask(ANN, "run_cmd", { command: "pwd" }))).not.toContain("policy");
  expect(JSON.stringify(await door.ask(ANN, "stat", { path: "." }))).toContain("ann-is-no-agent");
});

test("REQ-I4: endpoints and metrics are decided on by the same policies", async () => {
  const door = await openTokenDoor(
    '[mcp.security]\npolicy_files = ["~/.config/llmc/policies/*.cedar", "p.cedar"]\n',
    {
      "p.cedar": `@id("bob-asks-nobody")
forbid(principal == Principal::"bob", action == Action::"invoke_agent", resource);
@id("bob-boots-nothing")
forbid(principal == Principal::"bob", action == Action::"rag_bootload", resource);
`,
    },
  );
  const agent = { session_id: "s", role: "Otto", user_msg: "hello", inject_context: "none" };
  const boot = { session_id: "s", task_id: "t" };
  const messageOf = async (path: string, body: unknown, who: Who): Promise<string> =>
    (await door.post(path, body, who)).text();
  expect(await messageOf("/invoke_agent", agent, BOB)).toContain(
    "The policy bob-asks-nobody does not allow invoke_agent.",
  );
  expect(await messageOf("/rag/bootload", boot, BOB)).toContain(
    "The policy bob-boots-nothing does not allow rag_bootload.",
  );
  for (const [path, body] of [
    ["/invoke_agent", agent],
    ["/rag/bootload", boot],
  ] as const)
    expect(await messageOf(path, body, ANN), path).not.toContain("FORBIDDEN");
  const metrics = async (who: Who) => (await fetch(`${door.url}/metrics`, { headers: who })).json();
  expect(await metrics(ANN)).toMatchObject({ message: expect.stringContaining('lacks the scope "metrics"') });
});
