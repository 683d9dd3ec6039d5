import { closeSync } from "node:fs";
import { openInputPipe, openPipe } from "../run/tree/pipe.ts";
import type { Channel } from "./contract.ts";

/** Input that a process has not read yet. */
export const MAX_WAITING_BYTES = 1_048_576;

/** One pipe in, one out: both of the process's output streams share it, so that their order is kept. */
export const openPipeChannel = (): Channel => {
  const input = openInputPipe();
  const output = openPipe();
  let isTaken = false;
  // A process that has closed its input or ended is reported by its state, not by an error here.
  input.writer.on("error", () => {});
  output.reader.on("error", () => {});
  const ended = new Promise<void>((resolve) => {
    output.reader.once("close", () => resolve());
  });
  return {
    childStdio: () => {
      isTaken = true;
      return [input.readEnd, output.writeEnd, output.writeEnd];
    },
    onData: (listener) => void output.reader.on("data", listener),
    ended,
    write: (bytes) => {
      if (input.writer.writableLength + bytes.length > MAX_WAITING_BYTES) return false;
      if (input.writer.writable) input.writer.write(bytes);
      return true;
    },
    endInput: () => void input.writer.end(),
    pause: () => void output.reader.pause(),
    resume: () => void output.reader.resume(),
    close: () => {
      input.writer.destroy();
      output.reader.destroy();
      if (!isTaken) for (const descriptor of [input.readEnd, output.writeEnd]) closeSync(descriptor);
      isTaken = true;
    },
  };
};
