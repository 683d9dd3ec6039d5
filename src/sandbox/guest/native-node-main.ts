/**
 * Run as a process of its own, in the sandbox of commands: programs in the machine's own Node, with its packages. There is
 * no interpreter around them, so the only wall is around this process.
 */
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { Runtime } from "node:inspector";
import { Session } from "node:inspector/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { runInThisContext } from "node:vm";
import { MAX_TIMERS } from "./bounds.ts";
import type { FromGuest, ProgramError, ToGuest } from "./messages.ts";
import { PRELUDE } from "./prelude.ts";
import { type Described, toProgramError, UNSHOWN } from "./program-error.ts";
import {
  createFileSender,
  createOutput,
  listen,
  post,
  postCall,
  readPreludeFiles,
  refuseResult,
  settingsOf,
  type WorkspaceFile,
} from "./speak.ts";
import { stripTypes } from "./strip-types.ts";

type Run = Extract<ToGuest, { type: "run" }>;
type Ended = Pick<Extract<FromGuest, { type: "done" }>, "result" | "error">;

/** What the prelude gives. */
interface Surroundings {
  begin(inputs: string): void;
  settle(id: number, value: string): void;
  fail(id: number, failure: string): void;
  fire(timer: number): void;
  result(wrapped: { readonly value: unknown }): string | undefined;
  describe(thrown: unknown): string;
  files(): string;
}

const { setTimeout: startNative, clearTimeout: stopNative } = globalThis;
const { packages = [] } = settingsOf();
const output = createOutput();
const sendFiles = createFileSender();
const timers = new Map<number, NodeJS.Timeout>();
const calls = new Set<number>();
const session = new Session();
let maxCallBytes = 0;
/** The program that runs. */
let written = "";
/** Called when a call or a timer has ended. */
let onSettled = (): void => {};

const surroundings = (runInThisContext(PRELUDE, { filename: "prelude" }) as (bridge: object) => Surroundings)(
  {
    output: output.write,
    call: (id: number, name: string, args: string) => {
      calls.add(id);
      const failure = postCall(id, name, args, maxCallBytes);
      if (failure !== undefined) setImmediate(() => settle({ type: "settle", call: id, failure }));
    },
    startTimer: (id: number, ms: number) => {
      if (timers.size >= MAX_TIMERS) return false;
      const fire = (): void => {
        timers.delete(id);
        surroundings.fire(id);
        onSettled();
      };
      timers.set(id, startNative(fire, ms));
      return true;
    },
    stopTimer: (id: number) => {
      stopNative(timers.get(id));
      timers.delete(id);
    },
  },
);

/** As in a project that has these packages installed; a folder that is not called node_modules is searched, too. */
const resolvers = packages.map((folder) =>
  createRequire(join(basename(folder) === "node_modules" ? dirname(folder) : folder, "program.js")),
);

/** `require` of a program; it loads modules of both kinds. */
const load = (name: string): unknown => {
  const failures: unknown[] = [];
  for (const resolver of [...resolvers, createRequire("/")]) {
    try {
      return resolver(name);
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  throw failures[0];
};

const describe = (thrown: unknown): ProgramError => {
  let described: string;
  try {
    described = surroundings.describe(thrown);
  } catch {
    return UNSHOWN;
  }
  return toProgramError(JSON.parse(described) as Described, written);
};

/** Values for which the inspector has only an address pass through here. */
let taken: unknown;
const takeValue = async (): Promise<(remote: object) => Promise<unknown>> => {
  const key = "llmc-take";
  Object.defineProperty(globalThis, key, { configurable: true, value: (value: unknown) => (taken = value) });
  const { result } = await session.post("Runtime.evaluate", {
    expression: `globalThis[${JSON.stringify(key)}]`,
  });
  Reflect.deleteProperty(globalThis, key);
  const { objectId = "" } = result;
  return async (remote) => {
    const functionDeclaration = "function (value) { this(value); }";
    await session.post("Runtime.callFunctionOn", { objectId, functionDeclaration, arguments: [remote] });
    return taken;
  };
};

/** The inspector evaluates as its console does: with `await`, and to the value of the last expression. */
const evaluate = async (code: string, take: (remote: object) => Promise<unknown>): Promise<Ended> => {
  const { result, exceptionDetails } = await session.post("Runtime.evaluate", {
    expression: `${code}\n//# sourceURL=program`,
    replMode: true,
    awaitPromise: true,
  } as Runtime.EvaluateParameterType);
  const value = await take(
    result.objectId === undefined
      ? { value: result.value, unserializableValue: result.unserializableValue }
      : { objectId: result.objectId },
  );
  if (exceptionDetails === undefined) return { result: surroundings.result({ value }) };
  const error = describe(value);
  const { lineNumber, columnNumber } = exceptionDetails;
  const isOfText = error.name === "SyntaxError" && error.line === undefined;
  return { error: isOfText ? { ...error, line: lineNumber + 1, column: columnNumber + 1 } : error };
};

const untilIdle = async (): Promise<void> => {
  while (calls.size + timers.size > 0)
    await new Promise<void>((resolve) => {
      onSettled = resolve;
    });
};

const settle = (message: Extract<ToGuest, { type: "settle" }>): void => {
  if (!calls.delete(message.call)) return;
  if ("value" in message) surroundings.settle(message.call, message.value);
  else surroundings.fail(message.call, JSON.stringify(message.failure));
  onSettled();
};

const workFolder = mkdtempSync(join(tmpdir(), "work-"));

const fileAt = (path: string): WorkspaceFile => {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  return {
    name: relative(workFolder, path),
    size: Number(size),
    version: `${size}:${mtimeNs}`,
    read: () => readFileSync(path),
  };
};

/**
 * What the program wrote with Node's own functions. A recursive `readdir` would follow links to folders. What it has made
 * unreadable, or removes at the same time, is left out.
 */
const filesOnDisk = (): { readonly found: readonly WorkspaceFile[]; readonly isCut: boolean } => {
  const found: WorkspaceFile[] = [];
  let isCut = false;
  const attempt = (read: () => void): void => {
    try {
      read();
    } catch {
      isCut = true;
    }
  };
  const folders = [workFolder];
  const scan = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) attempt(() => found.push(fileAt(path)));
    }
  };
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const next = folder;
    attempt(() => scan(next));
  }
  return { found, isCut };
};

const endOf = async (run: Run, take: (remote: object) => Promise<unknown>): Promise<Ended> => {
  const stripped = run.language === "typescript" ? stripTypes(run.code) : { code: run.code };
  if ("error" in stripped) return { error: stripped.error };
  surroundings.begin(run.inputs);
  const failed = new Promise<Ended>((resolve) => {
    process
      .removeAllListeners("uncaughtException")
      .once("uncaughtException", (thrown) => resolve({ error: describe(thrown) }));
  });
  const finished = async (): Promise<Ended> => {
    const ended = await evaluate(stripped.code, take);
    if (ended.error === undefined) await untilIdle();
    return ended;
  };
  return Promise.race([finished(), failed]);
};

const start = async (run: Run, take: (remote: object) => Promise<unknown>): Promise<void> => {
  output.begin(run.maxOutputBytes);
  ({ maxCallBytes, code: written } = run);
  const ended = await endOf(run, take).catch((thrown: unknown) => ({ error: describe(thrown) }));
  for (const timer of timers.values()) stopNative(timer);
  timers.clear();
  calls.clear();
  const error = refuseResult("result" in ended ? ended.result : undefined, run.maxResultBytes);
  const { found, isCut } = filesOnDisk();
  const sent = sendFiles([...readPreludeFiles(surroundings.files()), ...found], run.maxFileBytes);
  post({
    type: "done",
    ...(error === undefined ? ended : { error }),
    outputCut: output.isCut(),
    files: sent.files,
    filesCut: sent.filesCut || isCut,
  });
};

const write = (text: string | Uint8Array): boolean => {
  output.write(typeof text === "string" ? text : Buffer.from(text).toString("utf8"));
  return true;
};
for (const stream of [process.stdout, process.stderr])
  Object.defineProperty(stream, "write", { value: write, writable: true, configurable: true });
Object.defineProperty(globalThis, "require", { value: load, writable: true, configurable: true });
// A promise that a program leaves behind must not end the interpreter.
process.on("unhandledRejection", () => {});
process.chdir(workFolder);
session.connect();
const take = await takeValue();

listen((message) => {
  // If we fail ourselves, the server learns it at once, and not when the time of the program is up.
  if (message.type === "run") start(message, take).catch(() => process.exit(1));
  else settle(message);
});
post({ type: "ready" });
