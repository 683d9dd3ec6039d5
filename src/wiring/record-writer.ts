import type { Writable } from "node:stream";
import { encodeRecord } from "../link/relay-records.ts";

/** No call is begun while more bytes of answers than this wait for a client that does not read. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;

/** Records to the supervisor. */
export const createRecordWriter = (output: Writable) => {
  let draining: Promise<void> | undefined;
  let isCorked = false;
  /** What is said in one turn of the event loop goes out in one write. */
  const gather = (): void => {
    if (isCorked) return;
    isCorked = true;
    output.cork();
    setImmediate(() => {
      isCorked = false;
      output.uncork();
    });
  };
  const drained = (): Promise<void> => {
    draining ??= new Promise((resolve) => {
      output.once("drain", () => {
        draining = undefined;
        resolve();
      });
    });
    return draining;
  };
  return {
    send: async (kind: string, fields: readonly (string | number)[], payload?: string): Promise<void> => {
      gather();
      const [bytes] = encodeRecord(kind, fields, payload);
      if (!output.write(bytes) && output.writableLength > MAX_UNSENT_BYTES) await drained();
    },
    room: (): Promise<void> => (output.writableLength > MAX_UNSENT_BYTES ? drained() : Promise.resolve()),
    end: (): Promise<void> => new Promise((resolve) => output.end(resolve)),
  };
};

export type RecordWriter = ReturnType<typeof createRecordWriter>;
