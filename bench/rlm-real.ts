import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Benchmark } from "./lib/report.ts";
import { llmc, startServer } from "./lib/server-process.ts";
import { round } from "./lib/stats.ts";

/** The little of node-llama-cpp that is used; the package is not one of ours. */
interface Llama {
  getLlama(options: object): Promise<{
    loadModel(options: object): Promise<{
      createContext(options: object): Promise<{ getSequence(): { dispose(): void } }>;
      tokenize(text: string): readonly unknown[];
    }>;
  }>;
  LlamaChatSession: new (
    options: object,
  ) => {
    prompt(text: string, options: object): Promise<string>;
  };
}

const FOLDER = "LLMC_BENCH_LLAMA";
const MODEL = "LLMC_BENCH_GGUF";
const CONTEXT_TOKENS = 2048;
const ANSWER_TOKENS = 100;
const TEXT = `${"The ward has twelve beds.\n".repeat(200)}The night nurse is called Ada.\n`;

interface Asked {
  readonly ms: number;
  readonly outputTokens: number;
}

/** Chat completions of a model in this process. */
const serveModel = async (folder: string, modelPath: string) => {
  const entry = pathToFileURL(resolve(folder, "node_modules/node-llama-cpp/dist/index.js")).href;
  const { getLlama, LlamaChatSession } = (await import(entry)) as Llama;
  const llama = await getLlama({ build: "never", logLevel: "error" });
  const model = await llama.loadModel({ modelPath: resolve(modelPath) });
  const context = await model.createContext({ contextSize: CONTEXT_TOKENS });
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { messages, max_tokens: maxTokens } = JSON.parse(Buffer.concat(parts).toString()) as {
      readonly messages: readonly { readonly role: string; readonly content: string }[];
      readonly max_tokens: number;
    };
    const startedAt = performance.now();
    const [system, ...others] = messages;
    const contextSequence = context.getSequence();
    const session = new LlamaChatSession({ contextSequence, systemPrompt: system?.content ?? "" });
    const prompt = others
      .map(({ content }) => content)
      .join("\n\n")
      .slice(-3000);
    const content = await session.prompt(prompt, { maxTokens });
    contextSequence.dispose();
    const outputTokens = model.tokenize(content).length;
    asked.push({ ms: performance.now() - startedAt, outputTokens });
    response.writeHead(200, { "content-type": "application/json" });
    const usage = {
      prompt_tokens: model.tokenize(prompt).length,
      completion_tokens: outputTokens,
      total_tokens: 0,
    };
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    response.end(
      JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "m", choices, usage }),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    close: (): void => {
      server.closeAllConnections();
      server.close();
    },
  };
};

export const rlmReal: Benchmark = {
  name: "rlm-real",
  summary: "one analysis by a real small model on this machine: plumbing, not wisdom",
  needs: `a folder with node-llama-cpp (${FOLDER}) and a GGUF file (${MODEL})`,
  run: async ({ program }) => {
    const [folder, gguf] = [process.env[FOLDER], process.env[MODEL]];
    if (folder === undefined || gguf === undefined) throw new Error(`${FOLDER} and ${MODEL} are not set.`);
    const models = await serveModel(folder, gguf);
    const root = await mkdtemp(join(tmpdir(), "llmc-bench-"));
    const set = (...settings: readonly string[]): readonly string[] =>
      settings.flatMap((one) => ["--set", `mcp.${one}`]);
    const server = startServer(
      llmc(
        program,
        root,
        "--mode",
        "classic",
        ...set(
          `llm.openai_url=${models.url}`,
          "llm.openai_key_env=",
          `llm.max_output_tokens=${ANSWER_TOKENS}`,
          "llm.timeout_seconds=600",
          "rlm.root_model=openai/small",
        ),
      ),
    );
    try {
      await server.handshake();
      const startedAt = performance.now();
      const args = {
        task: "Print the last line of the text, then finish with the nurse's name.",
        context: TEXT,
        max_turns: 2,
        timeout_s: 900,
      };
      const { result } = await server.request("tools/call", { name: "rlm_query", arguments: args });
      const seconds = (performance.now() - startedAt) / 1000;
      const body = result["structuredContent"] as
        | { readonly meta?: Readonly<Record<string, unknown>> }
        | undefined;
      const text = JSON.stringify(result["content"]);
      const outcome =
        result["isError"] === true ? (/error_code[^a-z]+([a-z_]+)/.exec(text)?.[1] ?? "error") : "answered";
      const outputTokens = models.asked.reduce((sum, one) => sum + one.outputTokens, 0);
      const modelSeconds = models.asked.reduce((sum, one) => sum + one.ms, 0) / 1000;
      return {
        tables: [
          {
            head: ["outcome", "calls", "output tokens", "seconds", "of which the model"],
            rows: [[outcome, models.asked.length, outputTokens, round(seconds, 1), round(modelSeconds, 1)]],
          },
        ],
        notes: [
          "A model of this size seldom writes a working program; what counts is that every turn is answered, counted and ended as documented.",
          ...(body?.meta === undefined ? [] : [`model_used: ${String(body.meta["model_used"])}`]),
        ],
        figures: {
          outcome,
          calls: models.asked.length,
          outputTokens,
          seconds: round(seconds, 1),
          modelSeconds: round(modelSeconds, 1),
        },
      };
    } finally {
      await server.close();
      models.close();
      await rm(root, { recursive: true, force: true });
    }
  },
};
