import { createHash } from "node:crypto";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { firstBytes } from "../../../base/utf8.ts";
import type { Database } from "../database/database.ts";
import { createChunker } from "./chunks.ts";
import type { HandleStore } from "./store.ts";

// Half a megabyte a transaction: a few milliseconds, so that other writers are not kept waiting.
const CHUNKS_AT_ONCE = 8;

const notice = (maxBytes: number): string =>
  `[llmc kept the first ${(maxBytes / (1024 * 1024)).toFixed(1)} MiB; the rest was dropped (mcp.handles.max_each_mb)]\n`;

export interface StoreRequest {
  readonly state: Database;
  readonly store: HandleStore;
  readonly lines: AsyncIterable<string> | Iterable<string>;
  /** What ends each of them: a newline, or nothing where pieces of a text are stored as they are. */
  readonly end: string;
  readonly maxBytes: number;
}

/**
 * Stores lines as they come, in bounded memory, and calls `done` with the payload in the same transaction that makes it
 * whole: after a crash it is there with its handle, or not at all. An equal payload that is there already is shared;
 * returns true if an unneeded payload was stored, which the sweeper removes.
 */
export const storeLines = async (
  { state, store, lines, end, maxBytes }: StoreRequest,
  done: (blob: number) => void,
): Promise<boolean> => {
  const chunker = createChunker(CHUNKS_AT_ONCE);
  const hash = createHash("sha256");
  const lastLine = notice(maxBytes);
  const room = maxBytes - lastLine.length;
  let blob: number | undefined;

  const flush = async (): Promise<void> => {
    const chunks = chunker.chunks(false);
    for (const { bytes } of chunks) hash.update(bytes);
    const size = chunker.size();
    blob = await state.transactSoon(() => {
      const id = blob ?? store.beginBlob();
      store.addChunks(id, chunks, size);
      return id;
    });
    chunker.drop(chunks);
    await yieldToOthers();
  };

  const add = async (text: string): Promise<void> => {
    for (let rest = chunker.add(text); rest !== ""; rest = chunker.add(rest)) await flush();
  };

  const finish = async (isCut: boolean): Promise<boolean> => {
    const chunks = chunker.chunks(true);
    for (const { bytes } of chunks) hash.update(bytes);
    const whole = { sha256: hash.digest(), bytes: chunker.size(), lines: chunker.newlines(), isCut };
    const isWaste = await state.transactSoon(() => {
      const equal = store.findBlob(whole.sha256);
      if (equal === undefined) {
        const id = blob ?? store.beginBlob();
        store.addChunks(id, chunks, whole.bytes);
        store.finishBlob(id, whole);
        done(id);
        return false;
      }
      if (blob !== undefined) store.abandonBlob(blob);
      done(equal);
      return blob !== undefined;
    });
    // Whoever keeps a hundred small texts in a row would otherwise let nobody else have a turn.
    await yieldToOthers();
    return isWaste;
  };

  const isTooLong = (line: string): boolean => {
    const left = room - chunker.size() - 1;
    return line.length * 3 > left && Buffer.byteLength(line) > left;
  };

  const cutAt = async (line: string): Promise<true> => {
    // A cut line could be mistaken for another line; only the first line is cut, because otherwise nothing would be
    // left.
    const left = room - chunker.size() - 1;
    if (chunker.size() === 0 && left > 0) await add(`${firstBytes(line, left)}\n`);
    await add(lastLine);
    return true;
  };

  /** Undefined where nothing has to be waited for, as for most of a million lines: each wait is garbage. */
  const addLine = (line: string): Promise<void> | undefined => {
    const rest = chunker.add(`${line}${end}`);
    if (rest !== "") return add(rest);
    return chunker.isFull() ? flush() : undefined;
  };

  const takeAll = async (): Promise<boolean> => {
    if (Symbol.iterator in lines) {
      for (const line of lines) {
        if (isTooLong(line)) return cutAt(line);
        const wait = addLine(line);
        if (wait !== undefined) await wait;
      }
      return false;
    }
    for await (const line of lines) {
      if (isTooLong(line)) return cutAt(line);
      await addLine(line);
    }
    return false;
  };

  try {
    return await finish(await takeAll());
  } catch (error) {
    const begun = blob;
    if (begun !== undefined) await state.transactSoon(() => store.abandonBlob(begun)).catch(() => {});
    throw error;
  }
};
