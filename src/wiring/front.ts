import { createLineSplitter } from "../base/line-splitter.ts";
import { claimStdout } from "../host/os/stdio.ts";
import { decodeRecord, type FrontHello, type RelayRecord } from "../link/relay-records.ts";
import type { Snapshot } from "../link/snapshot.ts";
import { answerEarly } from "../mcp/early-answers.ts";
import type { FrontDoor } from "./front-door.ts";
import { createRecordWriter, type RecordWriter } from "./record-writer.ts";
import { VERSION } from "./version.ts";

/** The supervisor's own bound is lower. */
const MAX_RECORD_BYTES = 128 * 1024 * 1024;
/** The library is loaded when the client has its list of tools, or has sent nothing for a while. */
const AFTER_LIST_MS = 20;
const IDLE_MS = 500;

const copyOf = (record: RelayRecord): RelayRecord => ({ ...record, payload: Buffer.from(record.payload) });

/**
 * A front that is being loaded. The first one of a connection answers what it can from what the last start left; everything
 * else waits for the door, which then hears all of it in order, what was answered as such.
 */
class Front {
  readonly #hello: FrontHello;
  readonly #writer: RecordWriter;
  readonly #waiting: RelayRecord[] = [];
  #snapshot: Snapshot | undefined;
  #door: Pick<FrontDoor, "take" | "close"> | undefined;
  #loading: Promise<void> | undefined;
  #isInitialized = false;

  constructor(hello: FrontHello, writer: RecordWriter) {
    this.#hello = hello;
    this.#writer = writer;
    if (hello.front > 1 || hello.http !== undefined) this.#load();
    else setTimeout(() => this.#load(), IDLE_MS).unref();
  }

  take(record: RelayRecord): void {
    if (this.#door !== undefined) this.#door.take(record);
    else if (this.#loading === undefined) this.#takeEarly(record);
    else this.#waiting.push(copyOf(record));
  }

  /** As long as nothing is loaded. */
  #takeEarly(record: RelayRecord): void {
    if (record.kind === "C") this.#snapshot = JSON.parse(record.payload.toString("utf8")) as Snapshot;
    if (record.kind === "L" && this.#answer(record)) return;
    this.#waiting.push(copyOf(record));
    if (record.kind === "L" || record.kind === "X" || record.kind === "R") this.#load();
  }

  /** The records are those that the door would send. */
  #answer({ fields: [n = ""], payload }: RelayRecord): boolean {
    if (this.#snapshot === undefined) return false;
    const early = answerEarly(payload, { version: VERSION, ...this.#snapshot }, this.#isInitialized);
    if (early === undefined) return false;
    const { send } = this.#writer;
    if (early.kind !== "list") {
      this.#isInitialized = true;
      void send("K", [n]);
      this.#waiting.push({ kind: "R", fields: [n], payload: Buffer.from(payload) });
    }
    void send("T", [n]);
    if (early.kind === "initialized") void send("D", [n]);
    else void send("A", [n], early.answer);
    if (early.kind === "list") setTimeout(() => this.#load(), AFTER_LIST_MS);
    return true;
  }

  #load(): void {
    this.#loading ??= this.#open().then((door) => {
      for (const record of this.#waiting) door.take(record);
      this.#waiting.length = 0;
      this.#door = door;
    });
  }

  async #open(): Promise<Pick<FrontDoor, "take" | "close">> {
    const { http } = this.#hello;
    if (http !== undefined)
      return (await import("./http-front-door.ts")).openHttpFrontDoor(this.#hello, http, this.#writer);
    return (await import("./front-door.ts")).openFrontDoor(this.#hello, this.#writer);
  }

  async close(): Promise<void> {
    await this.#loading;
    await this.#door?.close();
  }
}

/** The front: parses what the supervisor hands it of the client's input, and asks the core for everything. */
export const serveFront = (): Promise<void> =>
  new Promise((resolve) => {
    const { input, output } = claimStdout(undefined);
    const writer = createRecordWriter(output);
    let front: Front | undefined;
    let isEnding = false;
    const end = async (): Promise<void> => {
      if (isEnding) return;
      isEnding = true;
      await front?.close();
      await writer.end();
      input.destroy();
      resolve();
    };
    const splitter = createLineSplitter(() => MAX_RECORD_BYTES, 0, {
      onLine: (line) => {
        const record = decodeRecord(line);
        if (record?.kind === "I")
          front = new Front(JSON.parse(record.payload.toString("utf8")) as FrontHello, writer);
        else if (record?.kind === "E") void end();
        else if (record !== undefined) front?.take(record);
      },
      onOversize: () => {},
    });
    input.on("data", splitter.push);
    // The supervisor is gone, and with it the client.
    input.once("end", () => void end());
    output.on("error", () => void end());
  });
