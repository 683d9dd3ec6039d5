import { z } from "zod";
import { isRecord } from "../base/is-record.ts";
import { showControls } from "../base/text.ts";
import type { ProgramResult, RunningProgram } from "../sandbox/programs.ts";
import type { CallContext } from "./contract.ts";
import { defineTool, type NestedQuestions, type Ports } from "./tool.ts";

/** In the state that a client brings back with the answer to a question of a program. */
const PROGRAM = "program";
/** A larger result is kept behind a handle, and the model sees its beginning. */
const MAX_SHOWN_CHARS = 8000;
const SHOWN_OF_LARGE_CHARS = 1000;

const linesOf = (text: string): readonly string[] => text.replace(/\n$/, "").split("\n");

const open = (
  { language, code, timeout_s, inputs, session }: z.output<typeof input>,
  { programs }: Ports,
  { caller, signal, state, progress }: CallContext,
): Promise<RunningProgram> => {
  const id = isRecord(state) ? state[PROGRAM] : undefined;
  if (id !== undefined) return programs.resume(id, caller);
  const request = {
    language,
    code,
    timeoutSeconds: timeout_s,
    inputs: JSON.stringify(inputs),
    session,
  };
  const onColdStart = (interpreter: string): void =>
    void progress(0, undefined, `starting the interpreter of ${interpreter}`);
  return programs.start(request, caller, signal, onColdStart);
};

/** Runs it until it ends; where its user has to be asked, this call ends with the question and the program waits. */
const runToEnd = async (program: RunningProgram, { server, programs }: Ports, call: CallContext) => {
  const step = await program.next<NestedQuestions>({
    answers: call.answers,
    signal: call.signal,
    call: (tool, args, signal, answered) => server.callTool({ tool, args, signal, answered }, call),
  });
  if (step.kind === "ended") return step.result;
  await programs.suspend(program, call.caller);
  return call.ask(step.questions, { [PROGRAM]: program.id });
};

/** What the program leaves, as handles: nothing of it reaches the disk of the workspace. */
const keepFiles = (
  { files }: ProgramResult,
  { handles }: Ports,
  { caller }: CallContext,
): Promise<{ name: string; handle: string; bytes: number }[]> =>
  Promise.all(
    files.map(async ({ name, text }) => ({
      name,
      handle: await handles.put(caller, "output", `execute_code ${name}`, linesOf(text)),
      bytes: Buffer.byteLength(text),
    })),
  );

const keepResult = async (
  text: string | undefined,
  { handles }: Ports,
  { caller }: CallContext,
): Promise<string | undefined> =>
  text === undefined || text.length <= MAX_SHOWN_CHARS
    ? undefined
    : handles.put(
        caller,
        "output",
        "execute_code result",
        linesOf(JSON.stringify(JSON.parse(text), null, 1)),
      );

const input = z.strictObject({
  language: z.enum(["javascript", "typescript", "python"]),
  code: z.string().min(1).max(262_144),
  timeout_s: z.int().min(1).max(86_400).optional(),
  inputs: z.record(z.string(), z.unknown()).default({}).describe("global `inputs`"),
  session: z.string().min(1).max(64).optional().describe("keeps variables"),
});

const callSchema = z.object({ name: z.string(), duration_ms: z.number(), ok: z.boolean() });

/** The calls of a program in one line, by tool. */
const summarizeCalls = (calls: readonly z.output<typeof callSchema>[]): string => {
  const byName = new Map<string, { made: number; failed: number }>();
  for (const { name, ok } of calls) {
    const { made, failed } = byName.get(name) ?? { made: 0, failed: 0 };
    byName.set(name, { made: made + 1, failed: failed + (ok ? 0 : 1) });
  }
  return [...byName]
    .map(([name, { made, failed }]) => `${name} ${made}${failed === 0 ? "" : ` (${failed} failed)`}`)
    .join(", ");
};

export const executeCode = defineTool({
  name: "execute_code",
  description:
    "Run a program that calls tools: `await tools.NAME({...})`, `console.log`; the last expression is the result.",
  effect: "execute",
  // The program has a deadline of its own, which is shorter than this.
  timeoutMs: 86_400_000,
  input,
  output: z.object({
    data: z.object({
      stdout: z.string(),
      /** The value of the last expression. */
      result: z.unknown().optional(),
      error: z
        .object({
          name: z.string(),
          message: z.string(),
          line: z.int().optional(),
          column: z.int().optional(),
          /** Of a tool call that failed. */
          code: z.string().optional(),
          retryable: z.boolean().optional(),
          /** The bound that the program was ended for. */
          ended: z.string().optional(),
        })
        .optional(),
    }),
    meta: z.object({
      duration_ms: z.number(),
      tool_calls: z.array(callSchema),
      files: z.array(z.object({ name: z.string(), handle: z.string(), bytes: z.int() })),
      /** Whether output or files were dropped. */
      truncated: z.boolean(),
      result_handle: z.string().optional(),
      /** Whether the variables of an earlier program were there. */
      session_kept: z.boolean().optional(),
    }),
  }),
  run: async (args, ports, call) => {
    const program = await open(args, ports, call);
    const ended = await runToEnd(program, ports, call);
    const { result, error } = ended;
    const resultHandle = await keepResult(result, ports, call);
    return {
      data: {
        stdout: ended.output,
        ...(result === undefined ? {} : { result: JSON.parse(result) as unknown }),
        ...(error === undefined ? {} : { error }),
      },
      meta: {
        duration_ms: ended.durationMs,
        tool_calls: ended.calls.map(({ name, durationMs, ok }) => ({ name, duration_ms: durationMs, ok })),
        files: await keepFiles(ended, ports, call),
        truncated: ended.outputCut || ended.filesCut,
        ...(resultHandle === undefined ? {} : { result_handle: resultHandle }),
        ...(args.session === undefined ? {} : { session_kept: program.wasKept }),
      },
    };
  },
  render: ({ data: { stdout, result, error }, meta }) => {
    const shown = result === undefined ? "" : JSON.stringify(result);
    const at =
      error?.line === undefined
        ? ""
        : ` (line ${error.line}${error.column === undefined ? "" : `:${error.column}`})`;
    return (
      [
        ...(stdout === "" ? [] : [showControls(stdout.replace(/\n$/, ""))]),
        ...(meta.truncated ? ["[output or files over the limit were dropped]"] : []),
        ...(shown === ""
          ? []
          : [
              meta.result_handle === undefined
                ? `=> ${shown}`
                : `=> ${shown.slice(0, SHOWN_OF_LARGE_CHARS)}…`,
            ]),
        ...(meta.result_handle === undefined ? [] : [`[the whole result: handle:${meta.result_handle}]`]),
        ...(error === undefined
          ? []
          : [`${error.name}${error.code === undefined ? "" : ` ${error.code}`}: ${error.message}${at}`]),
        ...meta.files.map(({ name, handle, bytes }) => `[file ${name}: ${bytes} bytes, handle:${handle}]`),
        ...(meta.tool_calls.length === 0 ? [] : [`[calls: ${summarizeCalls(meta.tool_calls)}]`]),
        ...(meta.session_kept === false ? ["[new session]"] : []),
      ].join("\n") || "[no output and no result]"
    );
  },
});
