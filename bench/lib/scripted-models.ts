import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

interface Asked {
  readonly isRoot: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** When the request had arrived, and when the answer had left; milliseconds. */
  readonly arrivedAt: number;
  readonly answeredAt: number;
}

export interface ScriptedModels extends AsyncDisposable {
  readonly url: string;
  /** All calls since the last time, and forgets them. */
  take(): readonly Asked[];
}

export interface ModelScript {
  /** The program of a turn, counted from 1. */
  readonly program: (turn: number) => string;
  readonly answer: (prompt: string) => string;
  readonly latencyMs?: number;
}

/** Chat completions over HTTP by a script that can be replaced; tokens are counted with o200k_base. */
export const startScriptedModels = async (script: () => ModelScript): Promise<ScriptedModels> => {
  let asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const arrivedAt = performance.now();
    const { messages } = JSON.parse(Buffer.concat(parts).toString()) as {
      readonly messages: readonly { readonly content: string }[];
    };
    const isRoot = messages[0]?.content.startsWith("You answer a question about a text") === true;
    const { program, answer, latencyMs = 0 } = script();
    const content = isRoot
      ? `\`\`\`js\n${program(messages.length / 2)}\n\`\`\``
      : answer(messages.at(-1)?.content ?? "");
    const inputTokens = messages.reduce((sum, one) => sum + countTokens(one.content), 0);
    const outputTokens = countTokens(content);
    if (latencyMs > 0)
      await new Promise((resolve) => setTimeout(resolve, latencyMs - (performance.now() - arrivedAt)));
    const usage = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        id: "1",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
        usage,
      }),
    );
    asked.push({ isRoot, inputTokens, outputTokens, arrivedAt, answeredAt: performance.now() });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    take: () => {
      const taken = asked;
      asked = [];
      return taken;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
