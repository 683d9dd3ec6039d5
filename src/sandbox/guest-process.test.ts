import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { CallTool, Program } from "./contract.ts";
import { createFrameReader, encodeFrame } from "./guest/frames.ts";
import type { GuestChannel } from "./guest-channel.ts";
import { GuestProcess } from "./guest-process.ts";

const PROGRAM: Program = {
  language: "javascript",
  code: "",
  inputs: "{}",
  limits: {
    timeoutMs: 60_000,
    cpuMs: 60_000,
    maxOutputBytes: 1000,
    maxResultBytes: 1000,
    maxFileBytes: 1000,
    maxToolCalls: 1000,
    maxCallBytes: 300_000,
  },
};
const DONE = { type: "done", result: "1", files: [], outputCut: false, filesCut: false };
const never = new AbortController().signal;

/** A process that sends whatever a test says, as one does that has broken out of its interpreter. */
const hostileGuest = () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const received: { readonly type: string; readonly call?: number }[] = [];
  const read = createFrameReader(1e8, (text) => received.push(JSON.parse(text) as never));
  let listener = (_chunk: Buffer): void => {};
  let cpuMs = 0;
  const state = { isReading: true, isKilled: false };
  const channel: GuestChannel = {
    write: (bytes) => {
      read(bytes);
      return true;
    },
    onData: (given) => {
      listener = given;
    },
    setReading: (isReading) => {
      state.isReading = isReading;
    },
    ended,
    cpuMs: () => cpuMs,
    wasOverMemory: () => false,
    errors: () => "",
    kill: async () => {
      state.isKilled = true;
      end();
    },
  };
  const guest = new GuestProcess(channel);
  const send = (...messages: object[]): void => listener(Buffer.concat(messages.map(encodeFrame)));
  send({ type: "ready" });
  return {
    guest,
    state,
    received,
    send,
    useCpu: (ms: number) => {
      cpuMs += ms;
    },
  };
};

const fails: CallTool = async () => ({ failure: { code: "busy", message: "", retryable: true } });

describe("REQ-E3 FAIL-G2: a guest that is hostile", () => {
  test("ends with a message that comes between two programs, together with the end of one or later", async () => {
    const [first, later] = [hostileGuest(), hostileGuest()];
    const running = [first, later].map(({ guest }) => guest.run(PROGRAM, fails, never));
    first.send(DONE, { type: "output", text: "x" });
    later.send(DONE);
    expect(await Promise.all(running)).toMatchObject([{ result: "1" }, { result: "1" }]);
    expect(first.guest.isAlive()).toBe(false);
    expect(later.guest.isAlive()).toBe(true);
    later.send({ type: "call", call: 1, name: "x", args: "{}" });
    expect([later.guest.isAlive(), later.state.isKilled]).toEqual([false, true]);
  });

  test("ends if it computes between two programs; one that rests is kept", async () => {
    vi.useFakeTimers();
    try {
      const { guest, send, useCpu } = hostileGuest();
      const run = async (): Promise<void> => {
        const running = guest.run(PROGRAM, fails, never);
        useCpu(10_000);
        send(DONE);
        await running;
      };
      await run();
      await vi.advanceTimersByTimeAsync(600_000);
      await run();
      expect(guest.isAlive()).toBe(true);
      useCpu(3000);
      await vi.advanceTimersByTimeAsync(2000);
      expect(guest.isAlive()).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });

  test("that sends something else than it may is ended, and its program fails", async () => {
    const { guest, send } = hostileGuest();
    const running = guest.run(PROGRAM, fails, never);
    send({ ...DONE, result: "[" });
    expect(await running).toMatchObject({ error: { ended: "protocol" }, files: [] });
  });

  test("does not fill the memory with calls that wait: what waits beyond a bound is not read", async () => {
    const { guest, state, send, received } = hostileGuest();
    const held: (() => void)[] = [];
    const callTool: CallTool = async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return { value: "1" };
    };
    const running = guest.run(PROGRAM, callTool, never);
    const args = JSON.stringify({ path: "x".repeat(250_000) });
    for (let call = 1; state.isReading; call++) send({ type: "call", call, name: "read_file", args });
    expect(held.length).toBe(8);
    let answered = 0;
    for (const _round of Array.from({ length: 20 })) {
      answered += held.length;
      for (const release of held.splice(0)) release();
      await sleep(1);
    }
    expect(state.isReading).toBe(true);
    // Sixteen mebibytes of arguments, and the call that went beyond them.
    expect(answered).toBe(68);
    expect(received.filter(({ type }) => type === "settle").length).toBe(answered);
    send(DONE);
    expect((await running).calls.length).toBe(answered);
  });

  test("chooses no more names than it may print: of files, and of calls that nothing answers", async () => {
    const { guest, send, received } = hostileGuest();
    const callTool: CallTool = async (name, args, signal) =>
      name === "read_file" ? { value: "1" } : fails(name, args, signal);
    const running = guest.run(PROGRAM, callTool, never);
    const named = (n: number): string => `${n} obey this `.padEnd(190, "\u0001");
    const names = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? "read_file" : named(n)));
    for (const [call, name] of names.entries()) send({ type: "call", call, name, args: "{}" });
    send({ type: "output", text: "x".repeat(900) });
    await vi.waitUntil(() => received.filter(({ type }) => type === "settle").length === names.length);
    const files = Array.from({ length: 100 }, (_, n) => ({ name: `f${n}`.padEnd(100, "-"), base64: "" }));
    send({ ...DONE, files });
    const { calls, output, outputCut, files: kept, filesCut } = await running;
    expect(kept.map(({ name }) => name)).toEqual(files.slice(0, 9).map(({ name }) => name));
    const shown = names.map((name) => (name === "read_file" ? name : "(further names)"));
    expect(calls.map(({ name }) => name).toSorted()).toEqual(shown.toSorted());
    expect([output.length, outputCut, filesCut]).toEqual([1000 - 9 * 102, true, true]);
  });

  test("is not read while its user is asked something", async () => {
    const { guest, state, send } = hostileGuest();
    const running = guest.run(PROGRAM, fails, never);
    guest.pause();
    expect(state.isReading).toBe(false);
    guest.resume();
    expect(state.isReading).toBe(true);
    send(DONE);
    await running;
  });
});

test("REQ-E3 FAIL-G2: a frame that comes byte by byte takes the memory of one", () => {
  const texts: string[] = [];
  const read = createFrameReader(1e7, (text) => void texts.push(text));
  const frame = encodeFrame({ text: "é".repeat(500_000) });
  const before = process.memoryUsage().heapUsed + process.memoryUsage().external;
  for (let at = 0; at < frame.length - 1; at++) read(Buffer.from(frame.subarray(at, at + 1)));
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  expect(heapUsed + external - before).toBeLessThan(60e6);
  expect(texts).toEqual([]);
  const next = encodeFrame({ next: true });
  read(Buffer.concat([frame.subarray(-1), next, next.subarray(0, 3)]));
  read(next.subarray(3));
  expect(texts.map((text) => text.length)).toEqual([500_011, 13, 13]);
  expect(() => read(Buffer.from([255, 255, 255, 255]))).toThrow(RangeError);
});
