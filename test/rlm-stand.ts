import { onTestFinished } from "vitest";
import type { CallResult } from "../src/core/call.ts";
import { openTestApp, type TestApp } from "./app.ts";
import {
  type ModelRequest,
  type ModelServer,
  messagesOf,
  openaiAnswer,
  sendJson,
  startModelServer,
} from "./model-server.ts";

/** What the scripted models reply: a text, a status of HTTP, or a whole answer of the API. */
export type Reply = string | number | Readonly<Record<string, unknown>>;

export interface RlmScript {
  /** The model that writes programs: its turn, counted from 1, and what it was shown last. */
  readonly root: (turn: number, shown: string, task: string) => Reply | Promise<Reply>;
  /** The model that is asked by programs. */
  readonly sub?: (prompt: string) => Reply | Promise<Reply>;
}

interface StandOptions {
  readonly config?: string;
  readonly rlm?: string;
  readonly llm?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

export interface RlmStand extends TestApp {
  readonly server: ModelServer;
  /** Replaces the script. */
  play(script: RlmScript): void;
  /** Prompts of plain sub-calls so far. */
  prompts(): readonly string[];
  /** Requests of the model that writes programs. */
  rootRequests(): readonly ModelRequest[];
  query(args: object, more?: Parameters<TestApp["ask"]>[2]): Promise<CallResult>;
}

const ROOT_PROMPT = /^You answer a question about a text/;

const isRoot = (request: ModelRequest): boolean => ROOT_PROMPT.test(messagesOf(request)[0]?.content ?? "");

/** A program, as models write it. */
export const js = (code: string): string => `I look first.\n\n\`\`\`js\n${code}\n\`\`\`\n`;

const replyTo = (script: RlmScript, request: ModelRequest): Reply | Promise<Reply> => {
  const messages = messagesOf(request);
  const last = messages.at(-1)?.content ?? "";
  if (!isRoot(request)) return script.sub?.(last) ?? "";
  const task = /^The question:\n([\s\S]*?)\n\nThe context:/.exec(messages[1]?.content ?? "")?.[1] ?? "";
  return script.root(messages.length / 2, last, task);
};

type AtEnd = (work: () => Promise<void> | void) => void;

/** The real program with scripted models behind it, over real HTTP. */
export const openRlmStand = async (
  script: RlmScript,
  options: StandOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<RlmStand> => {
  let current = script;
  const server = await startModelServer(async (response, request) => {
    const reply = await Promise.resolve()
      .then(() => replyTo(current, request))
      .catch((thrown: unknown) => {
        // Answered first: a test that expects something in its script fails by that, and does not hang.
        sendJson(response, {}, 400);
        throw thrown;
      });
    if (typeof reply === "number") return sendJson(response, { error: { message: "no" } }, reply);
    return sendJson(response, typeof reply === "string" ? openaiAnswer(reply) : reply);
  });
  atEnd(async () => server[Symbol.asyncDispose]());
  const app = await openTestApp(
    {
      config: `[mcp]\nmode = "classic"\n[mcp.llm]\nopenai_url = "${server.url}/v1"\nopenai_key_env = ""\n${options.llm ?? ""}\n[mcp.rlm]\nroot_model = "openai/root"\nsub_model = "openai/sub"\n${options.rlm ?? ""}\n${options.config ?? ""}`,
      files: options.files ?? {},
      overrides: options.overrides ?? {},
    },
    atEnd,
  );
  return {
    ...app,
    server,
    play: (next) => {
      current = next;
    },
    rootRequests: () => server.requests.filter(isRoot),
    prompts: () =>
      server.requests.filter((one) => !isRoot(one)).map((one) => messagesOf(one).at(-1)?.content ?? ""),
    query: (args, more) => app.ask("rlm_query", args, more),
  };
};
