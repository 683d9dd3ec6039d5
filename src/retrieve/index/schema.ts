import { hash } from "node:crypto";
import { SYMBOLS_VERSION } from "../../symbols/extract/pack.ts";
import { DESCRIBED_LANGUAGES } from "../../symbols/languages/all.ts";
import { TERMS_VERSION } from "../terms/chunk-terms.ts";

/** Incremented whenever the tables below, or the way files are cut into chunks, change. */
const INDEX_VERSION = 5;

const VERSIONS = `${INDEX_VERSION}/${TERMS_VERSION}/${SYMBOLS_VERSION}/${DESCRIBED_LANGUAGES}`;

/** The version of the index, stored as SQLite's user_version: a database of another version is made again. */
export const indexVersion = (embedderId: string): number =>
  1 + (Number.parseInt(hash("sha256", `${VERSIONS}/${embedderId}`).slice(0, 8), 16) % 0x7ffffffe);

export const INDEX_TABLES = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    -- indexed, binary, large, unreadable or failed.
    state TEXT NOT NULL,
    size INTEGER NOT NULL,
    -- Of the file as it was read; empty where it cannot be trusted.
    stamp TEXT NOT NULL,
    hash TEXT NOT NULL,
    language TEXT NOT NULL,
    fallback TEXT,
    chunk_count INTEGER NOT NULL,
    -- The write that last changed what is indexed of it.
    generation INTEGER NOT NULL
  );
  CREATE INDEX files_by_generation ON files (generation);
  -- Apart from the files, so that a new stamp does not rewrite them.
  CREATE TABLE entries (
    file INTEGER PRIMARY KEY,
    chunks TEXT NOT NULL,
    terms BLOB NOT NULL,
    vectors BLOB NOT NULL
  );
  -- Vectors of a configured model, instead of those in entries. The layout identifies the content and the chunks they were
  -- computed for, so that outdated rows are never used.
  CREATE TABLE model_vectors (
    embedder TEXT NOT NULL,
    path TEXT NOT NULL,
    layout TEXT NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (embedder, path)
  );
  CREATE TABLE symbols (file INTEGER PRIMARY KEY, data BLOB NOT NULL);
  -- Files that were removed, for processes that still have them in memory.
  CREATE TABLE gone (file INTEGER PRIMARY KEY, path TEXT NOT NULL, generation INTEGER NOT NULL);`;
