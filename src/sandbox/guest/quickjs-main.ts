/**
 * Run as a process of its own, confined by the system: an interpreter in WebAssembly that runs programs which the server
 * sends. Whatever breaks out of the interpreter is still in here.
 */
import { MAX_TIMERS } from "./bounds.ts";
import type { FromGuest, ToGuest } from "./messages.ts";
import { createVm, type Standing } from "./quickjs-vm.ts";
import {
  createFileSender,
  createOutput,
  listen,
  post,
  postCall,
  readPreludeFiles,
  refuseResult,
  settingsOf,
  whenIdle,
} from "./speak.ts";
import { stripTypes } from "./strip-types.ts";

type Run = Extract<ToGuest, { type: "run" }>;

/** A timer longer than any program lives. */
const MAX_TIMER_MS = 86_400_000;

const output = createOutput();
const sendFiles = createFileSender();
const timers = new Map<number, NodeJS.Timeout>();
const calls = new Set<number>();
let current: Run | undefined;
let hasRun = false;

const vm = await createVm(settingsOf(), {
  output: output.write,
  call: (id, name, args) => {
    calls.add(id);
    const failure = postCall(id, name, args, current?.maxCallBytes ?? 0);
    if (failure !== undefined) setImmediate(() => settle({ type: "settle", call: id, failure }));
  },
  startTimer: (id, ms) => {
    if (timers.size >= MAX_TIMERS) return false;
    const fire = (): void => {
      timers.delete(id);
      vm.fire(id);
      advance();
    };
    timers.set(id, setTimeout(fire, Math.min(Math.max(0, ms), MAX_TIMER_MS)));
    return true;
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
  const error = refuseResult(ended.result, maxResultBytes);
  post({
    type: "done",
    ...(error === undefined ? ended : { error }),
    outputCut: output.isCut(),
    ...sendFiles(readPreludeFiles(vm.files()), maxFileBytes),
  });
};

/** As in Node, a program ends when nothing is left to wait for; an error ends it at once. */
const conclude = (standing: Standing): void => {
  if (standing.is === "failed") finish({ error: standing.error });
  else if (calls.size === 0 && timers.size === 0)
    finish(standing.is === "pending" ? { error: vm.neverSettles() } : { result: standing.result });
};

const advance = (): void => {
  if (current !== undefined) conclude(vm.advance());
};

const start = (run: Run): void => {
  current = run;
  hasRun = true;
  output.begin(run.maxOutputBytes);
  const stripped = run.language === "typescript" ? stripTypes(run.code) : { code: run.code };
  if ("error" in stripped) finish({ error: stripped.error });
  else {
    vm.begin(run.inputs);
    vm.evaluate(stripped.code, run.sharesVariables);
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
whenIdle(
  () => !hasRun,
  () => {
    vm.begin("{}");
    vm.evaluate("1", false);
    vm.advance();
    vm.files();
    // The first program in TypeScript would otherwise take a tenth of a second longer.
    stripTypes("");
  },
);
