import { describe, expect, test } from "vitest";
import { failureOf, type Server } from "../server.ts";
import { createWorkspace } from "../workspace.ts";

/** Larger than a line may be. */
const LONG = "x".repeat(70_000);
const OPTIONS = { args: ["--set", "mcp.limits.max_frame_bytes=65536"], handshake: false };

const ANSWERS: readonly [name: string, answer: (id: string) => string][] = [
  ["a result that is no object", (id) => `{"jsonrpc":"2.0","id":${id},"result":"yes"}`],
  ["two results", (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"result":{"action":"accept"}}`],
  ["no JSON", (id) => `{"jsonrpc":"2.0","id":${id},"result":{"action":}}`],
  ["too long", (id) => `{"jsonrpc":"2.0","id":${id},"result":{"action":"accept","more":"${LONG}"}}`],
  ["too long, its id at the end", (id) => `{"result":{"more":"${LONG}"},"jsonrpc":"2.0","id":${id}}`],
];

/** Asks for what the user has to agree to, and gives each answer. */
const tryAnswers = async (server: Server): Promise<void> => {
  await server.handshake({ elicitation: {} });
  const questions = () => server.messages.filter(({ method }) => method === "elicitation/create");
  for (const [at, [name, answer]] of ANSWERS.entries()) {
    const id = server.askTool("run_cmd", { command: "id -u" });
    await server.until(() => questions().length > at, `the question that is answered with: ${name}`);
    server.write(`${answer(JSON.stringify(questions()[at]?.id))}\n`);
    const { error, meta } = failureOf(await server.toolResult(id));
    expect({ name, error, code: meta.error_code }).toMatchObject({
      error: expect.stringContaining("The user was asked and did not answer"),
      code: "forbidden",
    });
  }
};

describe("FAIL-D2 a question whose answer cannot be read is unanswered at once, and its call ends", () => {
  test("where what is parsed is parsed by a process of its own", async () => {
    await using workspace = await createWorkspace();
    await tryAnswers(await workspace.start(OPTIONS));
  });

  test("where everything runs in one process", async () => {
    await using workspace = await createWorkspace();
    await tryAnswers(await workspace.serve(OPTIONS));
  });
});
