import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { shareV8Flags, withV8Flags } from "./v8-flags.ts";

/** Counts the threads that are inside at the same time. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
import(workerData.module).then(({ withV8Flags }) => {
  const inside = new Int32Array(workerData.inside);
  let most = 0;
  for (let round = 0; round < 50; round++)
    withV8Flags([], [], () => {
      most = Math.max(most, Atomics.add(inside, 0, 1) + 1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      Atomics.sub(inside, 0, 1);
    });
  parentPort.postMessage(most);
});
`;

test("threads change the flags of the process one after the other", async () => {
  shareV8Flags();
  const inside = new SharedArrayBuffer(4);
  const module = new URL("./v8-flags.ts", import.meta.url).href;
  const threads = [0, 1, 2].map(
    () =>
      new Promise<number>((resolve, reject) => {
        const worker = new Worker(THREAD, { eval: true, workerData: { module, inside } });
        worker.once("message", resolve).once("error", reject);
      }),
  );
  expect(await Promise.all(threads)).toEqual([1, 1, 1]);
});

test("an error inside leaves the flags to the next one", () => {
  const fail = (): void =>
    withV8Flags([], [], () => {
      throw new Error("no grammar");
    });
  expect(fail).toThrow("no grammar");
  expect(fail).toThrow("no grammar");
});
