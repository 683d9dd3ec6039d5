import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readEmbedderFiles } from "../src/host/os/assets.ts";
import type { EmbeddingModel } from "../src/retrieve/embed/async-embedder.ts";
import type { Retrieval } from "../src/retrieve/engine.ts";
import type { IndexSettings } from "../src/retrieve/index/settings.ts";
import { createLocalRetrieval } from "../src/retrieve/local-retrieval.ts";
import type { SearchRequest } from "../src/retrieve/rank/search-request.ts";
import { ownState, USER_STATE } from "./user-state.ts";

/** Read once: every engine of a test may share it. */
const embedderFiles = readEmbedderFiles();

export const SETTINGS: IndexSettings = {
  roots: ["."],
  denylist: [".env", ".env.*", "*.pem", "*secret*"],
  maxFileBytes: 1024 * 1024,
  watch: false,
  threads: 0,
};

export const request = (query: string, more: Partial<SearchRequest> = {}): SearchRequest => ({
  query,
  scope: "both",
  k: 10,
  budgetTokens: 5000,
  ...more,
});

/** A folder of its own with an engine on it; both are gone with the test. */
export interface Indexed extends AsyncDisposable {
  readonly path: string;
  readonly retrieval: Retrieval;
  readonly warnings: readonly string[];
  settings: IndexSettings;
  write(path: string, text: string | Uint8Array): void;
  remove(path: string): void;
  /** Paths of the hits, best first. */
  find(query: string, more?: Partial<SearchRequest>): Promise<readonly string[]>;
  /** Another engine on the same folder, as another process has it; with the same model, unless one is given. */
  another(model?: EmbeddingModel): Retrieval;
}

export const createIndexed = (
  files: Readonly<Record<string, string>> = {},
  settings: Partial<IndexSettings> = {},
  model?: EmbeddingModel,
): Indexed => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "llmc-index-")));
  const warnings: string[] = [];
  const engines: Retrieval[] = [];
  const open = (withModel = model): Retrieval => {
    const made = createLocalRetrieval({
      workspace: path,
      userState: USER_STATE,
      settings: () => indexed.settings,
      onWarning: (message) => void warnings.push(message),
      embedderFiles,
      model: withModel,
    });
    engines.push(made);
    return made;
  };
  const write = (name: string, text: string | Uint8Array): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  const indexed: Omit<Indexed, "retrieval"> = {
    path,
    warnings,
    settings: { ...SETTINGS, ...settings },
    write,
    remove: (name) => rmSync(join(path, name), { recursive: true }),
    find: async (query, more) => {
      const { value } = await retrieval.search(request(query, more));
      return value.map((snippet) => snippet.path);
    },
    another: open,
    [Symbol.asyncDispose]: async () => {
      for (const engine of engines) await engine.close();
      rmSync(path, { recursive: true, force: true });
    },
  };
  const retrieval = open();
  return Object.assign(indexed, { retrieval });
};

/** Everything that an index says, without what depends on how it came to be. */
export const dumpIndex = (workspace: string): readonly unknown[] => {
  const db = new DatabaseSync(ownState(workspace, "index.db"), { readOnly: true });
  try {
    return db
      .prepare(
        `SELECT path, state, size, files.hash, language, fallback, chunk_count, chunks, hex(terms) AS terms,
           hex(vectors) AS vectors, hex(data) AS symbols
         FROM files LEFT JOIN entries ON entries.file = id LEFT JOIN symbols ON symbols.file = id ORDER BY path`,
      )
      .all();
  } finally {
    db.close();
  }
};

/** What a clean build in another folder gives for the same files. */
export const dumpCleanBuild = async (files: ReadonlyMap<string, string>): Promise<readonly unknown[]> => {
  await using clean = createIndexed(Object.fromEntries(files));
  await clean.retrieval.index({});
  return dumpIndex(clean.path);
};
