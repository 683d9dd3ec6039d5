/** Has each client of the server's try to reach an address, in an air gap or not; prints what each attempt came to. */
import { readSource } from "../../src/documents/sources/read-source.ts";
import { createPostgresRateLimiter } from "../../src/host/net/postgres-rate-limiter.ts";
import { createRedisRateLimiter } from "../../src/host/net/redis-rate-limiter.ts";
import { openPostgres } from "../../src/host/state/postgres.ts";
import { createModels } from "../../src/llm/models.ts";
import { createTracer } from "../../src/observe/trace.ts";

/** `HOST:PORT`; resolves only where something was answered. */
type Attempt = (address: string) => Promise<unknown>;

/** For programs that all start at once. */
const ANSWER_MS = 10_000;

const askModel =
  (name: string): Attempt =>
  async (address) => {
    const provider = { url: `http://${address}/v1`, keyVariable: "KEY" };
    const models = createModels({
      settings: () => ({
        profile: "unrestricted",
        allowedModelPrefixes: ["openai/", "ollama_chat/", "anthropic/", "gemini/"],
        providers: { ollama: provider, openai: provider, anthropic: provider, google: provider },
      }),
      secret: () => "a-key",
    });
    const model = await models.open(name, () => {});
    const messages = [{ role: "user", text: "hello" }] as const;
    return model.generate({ messages, maxOutputTokens: 10, timeoutMs: ANSWER_MS });
  };

const sendTrace: Attempt = async (address) => {
  const failures: Error[] = [];
  const tracer = await createTracer(`http://${address}/v1/traces`, "0", (error) => failures.push(error));
  tracer.startCall(undefined).end("stat", undefined);
  await tracer.flush();
  if (failures[0] !== undefined) throw failures[0];
};

/** It refuses at once as long as there is no connection, and reports what became of that. */
const limitByRedis: Attempt = async (address) => {
  const failed = Promise.withResolvers<never>();
  const limiter = createRedisRateLimiter(`redis://${address}`, failed.reject);
  return failed.promise.finally(limiter.close);
};

const limitByPostgres: Attempt = async (address) => {
  const limiter = createPostgresRateLimiter(`postgres://${address}/limits`, () => {}, ANSWER_MS);
  return limiter.consume("key", { perSecond: 1, burst: 1 }).finally(limiter.close);
};

const queryBase: Attempt = async (address) => {
  const base = openPostgres({
    url: `postgres://${address}/kb`,
    key: "mcp.kb.store_url_env",
    onError: () => {},
  });
  try {
    return await base.read((query) => query("SELECT 1", []));
  } finally {
    await base.close();
  }
};

const addSource =
  (source: (address: string) => string): Attempt =>
  async (address) => {
    const options = {
      denylist: [],
      closed: [],
      network: { privateHosts: [address] },
      maxDocumentBytes: 1000,
    };
    const items = readSource(
      source(address),
      { ...options, maxDocuments: 1, timeoutMs: ANSWER_MS },
      undefined,
    );
    for await (const item of items) if (item.kind === "failure") throw item.error;
  };

const CLIENTS: Readonly<Record<string, Attempt>> = {
  openai: askModel("openai/m"),
  ollama: askModel("ollama_chat/m"),
  anthropic: askModel("anthropic/m"),
  gemini: askModel("gemini/m"),
  traces: sendTrace,
  redis: limitByRedis,
  postgres: limitByPostgres,
  bases: queryBase,
  page: addSource((address) => `http://${address}/page.md`),
  repository: addSource((address) => `git+http://${address}/x.git`),
};

/** The codes of an error, or of the first of several, and of what caused it. */
const codesOf = (thrown: unknown): string => {
  const [error] = [thrown].flat();
  if (!(error instanceof Error)) return "";
  return `${Reflect.get(error, "code") || error.message || error.name} ${codesOf(error.cause)}`.trim();
};

const tasks = JSON.parse(process.argv[2] ?? "{}") as Readonly<Record<string, string>>;
const results = await Promise.all(
  Object.entries(tasks).map(async ([task, address]) => {
    const attempt = CLIENTS[task.split(" ")[0] ?? ""];
    if (attempt === undefined) throw new Error(`no client ${task}`);
    return [task, await attempt(address).then(() => "allowed", codesOf)] as const;
  }),
);
process.stdout.write(JSON.stringify(Object.fromEntries(results)), () => process.exit());
