import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { DocumentInput, DocumentParser, ParsedDocument } from "../contract.ts";
import { type Reader, type ReaderSettings, startReader } from "./reader-process.ts";

export interface DocumentParserSettings extends ReaderSettings {
  readonly maxDocumentBytes: number;
  /** Processes at once. */
  readonly readers: number;
}

const MIB = 1024 * 1024;

/** What fits documents that people write; `docs/guides/documents.md` names them. */
const DOCUMENT_DEFAULTS: DocumentParserSettings = {
  maxDocumentBytes: 32 * MIB,
  memoryMb: 512,
  timeoutMs: 60_000,
  limits: { maxChars: 8 * MIB, maxSections: 100_000, maxPages: 5000 },
  readers: 1,
};

/** A process that was taken over unnoticed can falsify no more documents than this. */
const MAX_DOCUMENTS_PER_READER = 200;
/** A process that nobody needs gives its memory back. */
const IDLE_MS = 10_000;
const MAX_NAME_CHARS = 255;

interface Slot {
  reader: Reader | undefined;
  documents: number;
  idle: NodeJS.Timeout | undefined;
}

const tooLarge = (maxBytes: number): LlmcError =>
  new LlmcError("file_too_large", `The document is larger than ${maxBytes} bytes.`);

export const createDocumentParser = (
  given: Partial<DocumentParserSettings> = {},
): DocumentParser & AsyncDisposable => {
  const settings = { ...DOCUMENT_DEFAULTS, ...given };
  const free: Slot[] = Array.from({ length: Math.max(1, settings.readers) }, () => ({
    reader: undefined,
    documents: 0,
    idle: undefined,
  }));
  const slots = [...free];
  const waiting: ((slot: Slot) => void)[] = [];
  const underWay = new Set<Promise<ParsedDocument>>();
  let isClosed = false;

  const refuseWhenClosed = (): void => {
    if (isClosed) throw new LlmcError("unavailable", "No more documents are read: the program is ending.");
  };

  const end = async (slot: Slot): Promise<void> => {
    const { reader } = slot;
    slot.reader = undefined;
    slot.documents = 0;
    await reader?.end();
  };

  const take = (signal: AbortSignal | undefined): Promise<Slot> => {
    const slot = free.pop();
    if (slot !== undefined) {
      clearTimeout(slot.idle);
      return Promise.resolve(slot);
    }
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        waiting.splice(waiting.indexOf(given), 1);
        reject(new LlmcError("cancelled", "Reading the document was cancelled."));
      };
      const given = (taken: Slot): void => {
        signal?.removeEventListener("abort", cancel);
        resolve(taken);
      };
      waiting.push(given);
      signal?.addEventListener("abort", cancel, { once: true });
    });
  };

  const release = (slot: Slot): void => {
    const next = waiting.shift();
    if (next !== undefined) {
      next(slot);
      return;
    }
    free.push(slot);
    slot.idle = setTimeout(() => void end(slot), IDLE_MS).unref();
  };

  const readIn = async (
    slot: Slot,
    input: DocumentInput,
    signal: AbortSignal | undefined,
  ): Promise<ParsedDocument> => {
    refuseWhenClosed();
    if (slot.reader?.isAlive() !== true || slot.documents >= MAX_DOCUMENTS_PER_READER) {
      await end(slot);
      slot.reader = await startReader(settings);
    }
    refuseWhenClosed();
    stopIfAborted(signal);
    slot.documents++;
    return slot.reader.read(input, signal);
  };

  return {
    parse: async ({ bytes, name, mediaType }, signal) => {
      stopIfAborted(signal);
      refuseWhenClosed();
      if (bytes.length > settings.maxDocumentBytes) throw tooLarge(settings.maxDocumentBytes);
      const slot = await take(signal);
      const reading = readIn(slot, { bytes, name: name.slice(-MAX_NAME_CHARS), mediaType }, signal);
      underWay.add(reading);
      try {
        return await reading;
      } finally {
        underWay.delete(reading);
        release(slot);
      }
    },
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      const endAll = async (): Promise<void> => void (await Promise.all(slots.map(end)));
      await endAll();
      // One that was just being started is there by now.
      await Promise.allSettled(underWay);
      await endAll();
      for (const slot of slots) clearTimeout(slot.idle);
    },
  };
};
