import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { trustWorkspace } from "../app.ts";
import { guestsOf } from "../descendants.ts";
import { messagesOf, openaiAnswer, openModelServer, sendJson } from "../model-server.ts";
import { cleanEnv, createWorkspace, launcher } from "../workspace.ts";

const program = (code: string): string => `\`\`\`js\n${code}\n\`\`\``;
const ROOT_PROMPT = "You answer a question about a text";
const WAIT = { timeout: 15_000, interval: 20 };

interface Stand {
  /** The program of a turn, and what a plain prompt is answered. */
  readonly root: (turn: number) => string;
  readonly sub?: (prompt: string) => string | Promise<string>;
  readonly more?: string;
}

/** The real server as a process, and a client of the official library. */
const openStand = async ({ root, sub = () => "", more = "" }: Stand) => {
  const models = await openModelServer(async (response, request) => {
    const messages = messagesOf(request);
    const isRoot = messages[0]?.content.startsWith(ROOT_PROMPT) === true;
    const reply = isRoot ? program(root(messages.length / 2)) : await sub(messages.at(-1)?.content ?? "");
    sendJson(response, openaiAnswer(reply));
  });
  const workspace = await createWorkspace({
    "llmc.toml": `[mcp]\nmode = "classic"\n[mcp.llm]\nopenai_url = "${models.url}/v1"\nopenai_key_env = ""\nprices = ["openai/m=1/2", "sampling/client=1/2"]\n[mcp.rlm]\nroot_model = "openai/m"\n${more}`,
  });
  onTestFinished(() => workspace.remove());
  await trustWorkspace(workspace.root);
  const transport = new StdioClientTransport({
    command: launcher,
    args: ["serve", "--stdio", "--root", workspace.root],
    env: cleanEnv(),
    cwd: "/",
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (text) => {
    stderr += String(text);
  });
  const client = new Client({ name: "llmc-test", version: "1.0.0" }, { capabilities: { sampling: {} } });
  onTestFinished(() => client.close());
  return {
    models,
    workspace,
    client,
    stderr: () => stderr,
    pid: (): number => transport.pid ?? 0,
    connect: () => client.connect(transport),
    ask: async (args: Readonly<Record<string, unknown>>, options = {}) =>
      (await client.callTool({ name: "rlm_query", arguments: args }, options)) as {
        readonly isError?: boolean;
        readonly content: readonly { readonly text: string }[];
      },
  };
};

const answerIn = ({ content }: { readonly content: readonly { readonly text: string }[] }) =>
  JSON.parse(content[0]?.text ?? "") as {
    readonly data: { readonly answer: string };
    readonly meta: { readonly source: unknown };
  };

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);

describe("rlm_query over stdio", () => {
  test("FAIL-G1 REQ-L1: contexts around 64 KiB and of 256 KiB arrive whole; progress tells turns, calls and spending", async () => {
    const stand = await openStand({
      root: (turn) =>
        turn === 1 ? "print(await llmBatch(['one', 'two']))" : "finish(context.length + context.slice(-3))",
      sub: (prompt) => prompt.toUpperCase(),
    });
    await stand.connect();
    for (const size of [65_535, 65_536, 65_537, 262_144]) {
      const context = `${"x".repeat(size - 3)}end`;
      const { data, meta } = answerIn(await stand.ask({ task: "how long?", context }));
      expect(data.answer).toBe(`${size}end`);
      expect(meta.source).toEqual({ type: "context", bytes_read: size, truncated: false });
    }
    const reports: { readonly progress: number; readonly total?: number; readonly message?: string }[] = [];
    await stand.ask(
      { task: "how long?", context: "text" },
      { onprogress: (one: (typeof reports)[number]) => void reports.push(one) },
    );
    const steps = reports.map(({ progress }) => progress);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
    expect(reports[0]).toMatchObject({
      total: 5,
      message: expect.stringMatching(/^turn 1 of 5 \| 0 calls \| \$0\.0000 of \$1\.00 \|/),
    });
    expect(reports.map(({ message }) => message)).toContainEqual(
      expect.stringContaining("call 0:2 openai/m: ok"),
    );
  });

  test("REQ-L11 FAIL-D5: notifications/cancelled ends the analysis, its model call and its interpreter within a second", async () => {
    const stand = await openStand({
      root: () => "await llm('never answered')",
      sub: () => new Promise<string>(() => {}),
    });
    await stand.connect();
    const controller = new AbortController();
    const asked = stand.ask({ task: "t", context: "text" }, { signal: controller.signal });
    asked.catch(() => {});
    await vi.waitFor(() => {
      expect(stand.models.requests).toHaveLength(2);
      expect(guestsOf(stand.pid())).not.toEqual([]);
    }, WAIT);
    const before = performance.now();
    controller.abort();
    await expect(asked).rejects.toThrow();
    await stand.models.hungUp;
    await vi.waitFor(() => expect(guestsOf(stand.pid())).toEqual([]), WAIT);
    expect(performance.now() - before).toBeLessThan(1000);
  });

  test("REQ-L3 REQ-L2: a client that offers sampling is the model, for turns and sub-calls", async () => {
    const stand = await openStand({ root: () => "" });
    await stand.workspace.write(
      "llmc.toml",
      '[mcp]\nmode = "classic"\n[mcp.llm]\nprices = ["sampling/client=1/2"]\n[mcp.rlm]\nroot_model = "sampling/client"\nprofile = "unrestricted"\n',
    );
    await stand.workspace.trust();
    const asked: string[] = [];
    stand.client.setRequestHandler("sampling/createMessage", ({ params }) => {
      const [first] = params.messages;
      const content = Array.isArray(first?.content) ? first.content[0] : first?.content;
      const prompt = content?.type === "text" ? content.text : "";
      const isRoot = params.systemPrompt?.startsWith(ROOT_PROMPT) === true;
      asked.push(isRoot ? "turn" : prompt);
      const text = isRoot
        ? program("finish((await llmBatch(['one', 'two'])).join(' ') + context.length)")
        : prompt.toUpperCase();
      return {
        model: "the-client's",
        role: "assistant" as const,
        content: { type: "text" as const, text },
        stopReason: "endTurn",
      };
    });
    await stand.connect();
    const { data } = answerIn(await stand.ask({ task: "t", context: "12345" }));
    expect(data.answer).toBe("ONE TWO5");
    expect(asked.sort()).toEqual(["one", "turn", "two"]);
    expect(stand.models.connections()).toBe(0);
  });

  test("REQ-L6 FAIL-G7: a killed interpreter and a killed server leave nothing of the text in output, logs and files", async () => {
    const MARKER = "marker-of-the-patient-6160";
    const stand = await openStand({
      root: () => `print(context); await llm(context + "${MARKER}")`,
      sub: () => new Promise<string>(() => {}),
      more: '[mcp.logging]\nlevel = "debug"\n',
    });
    await stand.connect();
    const args = { task: `what about ${MARKER}?`, context: `the patient is ${MARKER}` };
    const asked = stand.ask(args);
    asked.catch(() => {});
    await vi.waitFor(() => expect(stand.models.requests).toHaveLength(2), WAIT);
    for (const guest of guestsOf(stand.pid())) process.kill(guest, "SIGKILL");
    // The analysis goes on in a new interpreter, and the model is reports.
    await vi.waitFor(() => expect(stand.models.requests.length).toBeGreaterThan(2), WAIT);
    process.kill(stand.pid(), "SIGABRT");
    await expect(asked).rejects.toThrow();
    const files = filesBelow(stand.workspace.root).map(
      (path) => [path, readFileSync(path, "latin1")] as const,
    );
    expect(stand.stderr()).not.toBe("");
    for (const [name, text] of [["stderr", stand.stderr()] as const, ...files])
      expect(text.includes(MARKER), name).toBe(false);
  });
});

test("REQ-L11 REQ-L10: ctrl-c ends llmc rlm query, with its model call and its interpreter", async () => {
  const models = await openModelServer((response, request) => {
    if (request.text.includes(ROOT_PROMPT))
      sendJson(response, openaiAnswer(program("await llm('never answered')")));
  });
  const workspace = await createWorkspace({ "notes.txt": "a text\n" });
  onTestFinished(() => workspace.remove());
  const settings = [`llm.openai_url=${models.url}/v1`, "llm.openai_key_env=", "rlm.root_model=openai/m"];
  const args = [
    "rlm",
    "query",
    "t",
    "--file",
    "notes.txt",
    ...settings.flatMap((one) => ["--set", `mcp.${one}`]),
  ];
  const child = spawn(launcher, args, { cwd: workspace.root, env: cleanEnv() });
  let err = "";
  child.stderr.on("data", (text) => {
    err += String(text);
  });
  const ended = new Promise<number | null>((done) => child.once("close", done));
  await vi.waitFor(() => expect(models.requests).toHaveLength(2), WAIT);
  const guests = guestsOf(child.pid ?? 0);
  expect(guests).not.toEqual([]);
  child.kill("SIGINT");
  expect(await ended).toBe(7);
  expect(err).toContain("cancelled");
  for (const guest of guests) expect(() => process.kill(guest, 0)).toThrow();
});

test("FAIL-G1: more than the limit on stdin is refused, however much comes", async () => {
  const workspace = await createWorkspace();
  onTestFinished(() => workspace.remove());
  const args = ["rlm", "query", "t", "--context", "-", "--set", "mcp.rlm.max_bytes_limit=100000"];
  const child = spawn(launcher, args, { cwd: workspace.root, env: cleanEnv() });
  child.stdin.on("error", () => {});
  const write = (): void => {
    while (child.stdin.writable && child.stdin.write(Buffer.alloc(65_536, "x")));
  };
  child.stdin.on("drain", write);
  write();
  let err = "";
  child.stderr.on("data", (text) => {
    err += String(text);
  });
  expect(await new Promise<number | null>((done) => child.once("close", done))).not.toBe(0);
  expect(err).toContain("more than 100000 bytes on stdin");
});
