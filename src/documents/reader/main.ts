/**
 * Run as a process of its own, confined by the system: documents come in, texts go out. It has nothing but the code that it
 * runs; an attacker who takes it over can only falsify documents, and loses the process after a while.
 */

import { DocumentFailure } from "../text/limits.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import { READY, type ReadAnswer, type ReadRequest } from "./messages.ts";
import { parseDocument } from "./parse-document.ts";

/** The server bounds documents before it sends them; this is a last bound. */
const MAX_FRAME_BYTES = 1024 ** 3;

const failureOf = (thrown: unknown): ReadAnswer => {
  if (thrown instanceof DocumentFailure) return { failure: { code: thrown.code, message: thrown.message } };
  const isTooDeep = thrown instanceof RangeError && /call stack/i.test(thrown.message);
  return {
    failure: {
      code: "invalid_args",
      message: isTooDeep ? "The document is nested too deep." : "The document is damaged and cannot be read.",
    },
  };
};

const answer = async (request: ReadRequest, bytes: Uint8Array): Promise<void> => {
  const result: ReadAnswer = await parseDocument(bytes, request).then(
    (document) => ({ document }),
    failureOf,
  );
  process.stdout.write(encodeFrame(Buffer.from(JSON.stringify(result))));
};

let header: ReadRequest | undefined;
const read = createFrameReader(MAX_FRAME_BYTES, (frame) => {
  if (header === undefined) {
    header = JSON.parse(frame.toString("utf8")) as ReadRequest;
    return;
  }
  const request = header;
  header = undefined;
  void answer(request, frame);
});

process.stdin.on("data", read);
process.stdout.write(encodeFrame(Buffer.from(READY)));
