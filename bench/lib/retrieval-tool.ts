import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Document } from "./retrieval-sets.ts";
import { type Hit, HYBRID_SYSTEM, type OpenCorpus } from "./retrieval-systems.ts";
import { llmc, type ServerProcess, startServer } from "./server-process.ts";

interface Found {
  readonly data: { readonly snippets: readonly { readonly text: string; readonly src: string }[] };
  readonly meta: { readonly index: "ready" | "building" };
}

/** The most that the tool takes; the configuration holds answers to less, so it is set to the same. */
const MAX_K = 50;
const MAX_BUDGET_TOKENS = 200_000;
const LIMITS = ["--set", `mcp.rag.top_k=${MAX_K}`, "--set", `mcp.rag.token_budget=${MAX_BUDGET_TOKENS}`];

/** What an answer holds where nobody configured anything. */
const DEFAULT_ANSWER = { k: 3, budget_tokens: 600 };

const POLL_MS = 200;
/** A model makes some fifty vectors a second. */
const PATIENCE_MS = 1_800_000;

const writeDocuments = async (folder: string, documents: readonly Document[]): Promise<number> => {
  let bytes = 0;
  for (const { path, text } of documents) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    bytes += Buffer.byteLength(text);
  }
  return bytes;
};

const search = async (server: ServerProcess, query: string, k: number): Promise<Found> => {
  const args = { query, scope: "both", k, budget_tokens: MAX_BUDGET_TOKENS };
  return (await server.ask("rag_search", args)).structured as Found;
};

const whenIndexed = async (server: ServerProcess): Promise<void> => {
  const deadline = performance.now() + PATIENCE_MS;
  while ((await search(server, "anything", 1)).meta.index !== "ready") {
    if (performance.now() > deadline) throw new Error("The index was not ready in half an hour.");
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
};

/** Puts the documents on the disk, starts the program there, and asks it as a client would. */
export const openThroughTool =
  (program: string, settings: readonly string[] = []): OpenCorpus =>
  async (corpus) => {
    const folder = await mkdtemp(join(tmpdir(), "llmc-bench-retrieval-"));
    const bytes = await writeDocuments(folder, corpus.documents());
    const server = startServer(llmc(program, folder, "--mode", "classic", ...LIMITS, ...settings));
    await server.handshake();
    const started = performance.now();
    await whenIndexed(server);
    const indexMs = performance.now() - started;
    const stats = (await server.ask("rag_stats")).structured as {
      readonly data?: { readonly chunks?: number };
    };
    return {
      systems: [
        {
          name: HYBRID_SYSTEM,
          ask: async (query, limit): Promise<readonly Hit[]> => {
            const { data } = await search(server, query, Math.min(limit, MAX_K));
            return data.snippets.map(({ src, text }) => ({ path: src.slice(0, src.lastIndexOf("#")), text }));
          },
          answer: async (query) =>
            (await server.ask("rag_search", { query, scope: "both", ...DEFAULT_ANSWER })).text,
        },
      ],
      chunks: stats.data?.chunks ?? 0,
      megabytes: bytes / 1e6,
      indexMs,
      close: async () => {
        await server.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  };
