/**
 * Run as a process of its own, confined by the system: an interpreter in WebAssembly that runs programs which the server
 * sends. Whatever breaks out of the interpreter is still in here.
 */
import type { FromGuest, ToGuest } from "./messages.ts";
import { createVm, type Standing } from "./quickjs-vm.ts";
import { boundFiles, createOutput, type GuestFile, listen, post, settingsOf } from "./speak.ts";
import { stripTypes } from "./strip-types.ts";

type Run = Extract<ToGuest, { type: "run" }>;

/** A timer longer than any program lives. */
const MAX_TIMER_MS = 86_400_000;
const MAX_TIMERS = 1000;
/** A spare process has nothing to do by then; one that somebody waits for is running its program. */
const PRELOAD_MS = 100;

const output = createOutput();
const timers = new Map<number, NodeJS.Timeout>();
const calls = new Set<number>();
let current: Run | undefined;

const vm = await createVm(settingsOf(), {
  output: output.write,
  call: (id, name, args) => {
    calls.add(id);
    post({ type: "call", call: id, name, args });
  },
  startTimer: (id, ms) => {
    if (timers.size >= MAX_TIMERS) return;
    const fire = (): void => {
      timers.delete(id);
      vm.fire(id);
      advance();
    };
    timers.set(id, setTimeout(fire, Math.min(Math.max(0, ms), MAX_TIMER_MS)));
  },
  stopTimer: (id) => {
    clearTimeout(timers.get(id));
    timers.delete(id);
  },
});

const finish = (ended: Pick<Extract<FromGuest, { type: "done" }>, "result" | "error">): void => {
  if (current === undefined) return;
  const { maxResultBytes, maxFileBytes } = current;
  current = undefined;
  for (const timer of timers.values()) clearTimeout(timer);
  timers.clear();
  calls.clear();
  const isTooLarge = ended.result !== undefined && Buffer.byteLength(ended.result) > maxResultBytes;
  const tooLarge = {
    name: "RangeError",
    message: `The result is larger than ${maxResultBytes} bytes: return less, or write it to a file of the ephemeral workspace.`,
  };
  post({
    type: "done",
    ...(isTooLarge ? { error: tooLarge } : ended),
    outputCut: output.isCut(),
    ...boundFiles(JSON.parse(vm.files()) as readonly GuestFile[], maxFileBytes),
  });
};

const NEVER_SETTLES = {
  name: "Error",
  message: "The program waits for a promise that nothing will settle.",
};

/** As in Node, a program ends when nothing is left to wait for; an error ends it at once. */
const conclude = (standing: Standing): void => {
  if (standing.is === "failed") finish({ error: standing.error });
  else if (calls.size === 0 && timers.size === 0)
    finish(standing.is === "pending" ? { error: NEVER_SETTLES } : { result: standing.result });
};

const advance = (): void => {
  if (current !== undefined) conclude(vm.advance());
};

const start = (run: Run): void => {
  current = run;
  output.begin(run.maxOutputBytes);
  const stripped = run.language === "typescript" ? stripTypes(run.code) : { code: run.code };
  if ("error" in stripped) finish({ error: stripped.error });
  else {
    vm.begin(run.inputs);
    vm.evaluate(stripped.code);
    advance();
  }
};

const settle = (message: Extract<ToGuest, { type: "settle" }>): void => {
  if (!calls.delete(message.call)) return;
  if ("value" in message) vm.settle(message.call, message.value);
  else vm.fail(message.call, JSON.stringify(message.failure));
  advance();
};

listen((message) => (message.type === "run" ? start(message) : settle(message)));
post({ type: "ready" });
// Loaded while nobody waits: the first program in TypeScript would otherwise take a tenth of a second longer.
setTimeout(() => stripTypes(""), PRELOAD_MS).unref();
