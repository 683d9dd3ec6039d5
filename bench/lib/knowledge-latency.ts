import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "../../src/knowledge/evaluate/metrics.ts";
import { ALLOWED, cpuMsSince, type OpenBase, openBase } from "./knowledge-base.ts";
import { manyDocuments, runLoad, runSingly, zipfRanks } from "./knowledge-load.ts";
import { type QuestionSet, some } from "./knowledge-sets.ts";
import { type Figures, type Settings, verdictAbove, verdictBelow } from "./report.ts";
import { peakMb, proportionalMb, residentMb } from "./resident.ts";
import { sumOverParts } from "./server-parts.ts";
import { llmc, startServer } from "./server-process.ts";
import { round } from "./stats.ts";

const LOAD_SECONDS = 10;
const SINGLE_QUERIES = 300;
const ZIPF_REQUESTS = 100_000;

/** Beyond this size, ten questions at a time and the cache are not asked about: one question is. */
const MAX_LOADED = 200_000;

const p50 = (times: readonly number[]): number => round(percentile(times, 0.5), 2);
const p95 = (times: readonly number[]): number => round(percentile(times, 0.95), 2);

interface Rounds {
  readonly seconds: number;
  readonly singles: number;
  readonly zipf: number;
}

const roundsOf = (quick: boolean): Rounds =>
  quick
    ? { seconds: 2, singles: 50, zipf: 2000 }
    : { seconds: LOAD_SECONDS, singles: SINGLE_QUERIES, zipf: ZIPF_REQUESTS };

/** The engine alone, in this process: what the pipe to a server adds is the difference. */
const measureEngine = async (
  { engine, caches }: OpenBase,
  queries: readonly string[],
  chunks: number,
  rounds: Rounds,
): Promise<Figures> => {
  const search = (query: string, ttl: number) =>
    engine.hybridSearch({ collection: "set", query, top_k: 5, cache_ttl: ttl }, ALLOWED);
  // Every question another one, so that nothing is remembered.
  const other = (at: number): string => `${queries[at % queries.length]} ${at}`;
  await search("warm up", 0);
  const usage = process.cpuUsage();
  const singles = await runSingly(rounds.singles, (at) => search(other(at), 0));
  const single = {
    single_cpu_ms: round(cpuMsSince(usage) / rounds.singles, 2),
    single_p50_ms: p50(singles),
    single_p95_ms: p95(singles),
  };
  if (chunks > MAX_LOADED) return single;
  const lists = await runLoad(rounds.seconds, () => engine.listCollections(undefined, ALLOWED));
  const searches = await runLoad(rounds.seconds, (at) => search(other(at), 0));
  const asked = some(queries, 100);
  const answers = await runSingly(asked.length, (at) =>
    engine.answer({ query: asked[at] ?? "" }, { caller: ALLOWED, correlationId: "" }),
  );
  const before = caches.stats();
  for (const rank of zipfRanks(rounds.zipf)) await search(other(rank), 300);
  const after = caches.stats();
  const hits = (after.hits - before.hits) / (after.hits + after.misses - before.hits - before.misses);
  return {
    ...single,
    list_p95_ms: p95(lists),
    search_p50_ms: p50(searches),
    search_p95_ms: p95(searches),
    answer_p95_ms: p95(answers),
    cache_hits: round(hits, 3),
  };
};

/** A fresh server over the same store, asked through its pipe as a client asks. */
const measureServer = async (
  { root, env }: OpenBase,
  program: string,
  queries: readonly string[],
  chunks: number,
  rounds: Rounds,
): Promise<Figures> => {
  const launch = llmc(program, root, "--mode", "classic");
  const server = startServer({ ...launch, env: { ...launch.env, ...env } });
  try {
    await server.handshake();
    const search = (at: number) =>
      server.call("kb_hybrid_search", {
        collection: "set",
        query: `${queries[at % queries.length]} ${at}`,
        top_k: 5,
        cache_ttl: 0,
      });
    await server.call("kb_list_collections");
    const startMb = await sumOverParts(server.pid, residentMb);
    const firstMs = await search(0);
    const firstMb = await sumOverParts(server.pid, residentMb);
    const singles = await runSingly(rounds.singles, search);
    const isLoaded = chunks <= MAX_LOADED;
    const searches = isLoaded ? await runLoad(rounds.seconds, search) : [];
    const lists = isLoaded ? await runLoad(rounds.seconds, () => server.call("kb_list_collections")) : [];
    const asked = isLoaded ? some(queries, 100) : [];
    const answers = await runSingly(asked.length, (at) => server.call("kb_answer", { query: asked[at] }));
    return {
      start_mb: round(startMb, 0),
      first_query_ms: round(firstMs, 0),
      first_query_mb: round(firstMb, 0),
      single_p50_ms: p50(singles),
      single_p95_ms: p95(singles),
      ...(isLoaded
        ? {
            search_p50_ms: p50(searches),
            search_p95_ms: p95(searches),
            list_p95_ms: p95(lists),
            answer_p95_ms: p95(answers),
          }
        : {}),
      proportional_mb: round(await sumOverParts(server.pid, proportionalMb), 0),
      resident_mb: round(await sumOverParts(server.pid, residentMb), 0),
      peak_mb: round(await sumOverParts(server.pid, peakMb), 0),
    };
  } finally {
    await server.close();
  }
};

const SEARCH_MS = 100;
const SINGLE_MILLION_MS = 50;
const LIST_MS = 10;
const ANSWER_MS = 500;
const MEMORY_MB = 512;
const CACHE_HITS = 0.8;

/** What a client sees beside what was promised for this size. */
const verdictsOf = (chunks: number, engine: Figures, server: Figures): readonly string[] => {
  const value = (figures: Figures, key: string): number => Number(figures[key]);
  if (chunks > MAX_LOADED)
    return [
      verdictBelow(
        `${chunks} chunks, one question at p95`,
        value(server, "single_p95_ms"),
        SINGLE_MILLION_MS,
        "ms",
      ),
    ];
  return [
    verdictBelow("kb_hybrid_search at 100 r/s, p95", value(server, "search_p95_ms"), SEARCH_MS, "ms"),
    verdictBelow("kb_list_collections, p95", value(server, "list_p95_ms"), LIST_MS, "ms"),
    verdictBelow("kb_answer, p95", value(server, "answer_p95_ms"), ANSWER_MS, "ms"),
    verdictBelow("memory, pages in common counted once", value(server, "proportional_mb"), MEMORY_MB, "MB"),
    verdictAbove("cache hits", value(engine, "cache_hits"), CACHE_HITS),
  ];
};

export const runLatency = async (
  set: QuestionSet,
  chunks: number,
  { program, quick }: Settings,
): Promise<{ readonly figures: Figures; readonly verdicts: readonly string[] }> => {
  const base = await openBase(manyDocuments(set.documents, chunks));
  try {
    const rounds = roundsOf(quick);
    const queries = set.questions.map(({ query }) => query);
    const bytes = set.documents.reduce((sum, { text }) => sum + text.length, 0) / set.documents.length;
    const engine = await measureEngine(base, queries, chunks, rounds);
    await base.closeEngine();
    const [file = ""] = globSync(join(base.root, ".llmc/kb/**/kb.db"));
    const diskMb = statSync(file).size / 1e6;
    const server = await measureServer(base, program, queries, chunks, rounds);
    const figures = {
      chunks,
      characters: round(bytes, 0),
      ingest_s: round(base.ingestMs / 1000, 1),
      ingest_cpu_s: round(base.ingestCpuMs / 1000, 1),
      promote_s: round(base.promoteMs / 1000, 1),
      disk_mb: round(diskMb, 0),
      engine,
      server,
    };
    return { figures, verdicts: verdictsOf(chunks, engine, server) };
  } finally {
    await base.close();
  }
};
