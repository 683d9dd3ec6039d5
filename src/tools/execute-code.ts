import { z } from "zod";
import { isRecord } from "../base/is-record.ts";
import { endOfString } from "../base/json-guard.ts";
import { showControls } from "../base/text.ts";
import type { ProgramResult, RunningProgram } from "../sandbox/programs.ts";
import type { CallContext } from "./contract.ts";
import { isLongOutput, shownOutput, structuredOutput } from "./printed-output.ts";
import { futureHint, withHint } from "./program-hints.ts";
import { defineTool, type NestedQuestions, type Ports } from "./tool.ts";

/** In the state that a client brings back with the answer to a question of a program. */
const PROGRAM = "program";
/** A larger result is kept behind a handle, and the model sees its beginning. */
const MAX_SHOWN_CHARS = 8000;
const SHOWN_OF_LARGE_CHARS = 1000;

/** Of the lines in which a large result is kept. */
const LINE_CHARS = 200;

/**
 * JSON on several lines, without indentation, which would multiply a deep value. Lines end behind a comma, not inside a
 * string, as soon as they are long.
 */
const wrapJson = (json: string): readonly string[] => {
  const lines: string[] = [];
  let start = 0;
  for (let i = 0; i < json.length; i++) {
    if (json[i] === '"') i = endOfString(json, i);
    else if (json[i] === "," && i - start >= LINE_CHARS) {
      lines.push(json.slice(start, i + 1));
      start = i + 1;
    }
  }
  return [...lines, json.slice(start)];
};

/** A name that a program chose, in a line of ours: it must not end the line. */
const oneLine = (name: string): string => name.replace(/[\r\n\u2028\u2029]/g, "\u240a");

const open = async (
  { language, code, timeout_s, inputs, session }: z.output<typeof input>,
  { programs }: Ports,
  { caller, signal, state, progress }: CallContext,
): Promise<RunningProgram> => {
  const request = {
    language,
    code,
    timeoutSeconds: timeout_s,
    inputs: JSON.stringify(inputs),
    session,
  };
  const id = isRecord(state) ? state[PROGRAM] : undefined;
  if (id !== undefined) return programs.resume(id, request, caller);
  const onWait = (what: string): void => void progress(0, undefined, what);
  return programs.start(request, caller, signal, onWait);
};

/** Runs it until it ends; where its user has to be asked, this call ends with the question and the program waits. */
const runToEnd = async (program: RunningProgram, { server, programs }: Ports, call: CallContext) => {
  const step = await program.next<NestedQuestions>({
    answers: call.answers,
    signal: call.signal,
    call: (tool, args, signal, answered) => server.callTool({ tool, args, signal, answered }, call),
  });
  if (step.kind === "ended") return step.result;
  const cancelled = server.cancellationOf(call);
  const signals = cancelled === undefined ? [call.signal] : [call.signal, cancelled];
  programs.suspend(program, call.caller, AbortSignal.any(signals));
  return call.ask(step.questions, { [PROGRAM]: program.id });
};

/** Of the lines in which bytes are kept. */
const BASE64_CHARS = 120;

const wrapBase64 = (text: string): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / BASE64_CHARS) }, (_, n) =>
    text.slice(n * BASE64_CHARS, (n + 1) * BASE64_CHARS),
  );

/** What the program leaves, as handles, one after the other: nothing of it reaches the disk of the workspace. */
const keepFiles = async (
  { files }: ProgramResult,
  { handles }: Ports,
  { caller }: CallContext,
): Promise<z.output<typeof fileSchema>[]> => {
  const kept: z.output<typeof fileSchema>[] = [];
  for (const { name, content, encoding, bytes } of files) {
    const source = `execute_code ${showControls(oneLine(name))}`;
    const handle =
      encoding === "base64"
        ? await handles.put(caller, "output", source, wrapBase64(content))
        : await handles.putText(caller, "output", source, content);
    kept.push({ name, handle, bytes, ...(encoding === "base64" ? { encoding } : {}) });
  }
  return kept;
};

const keepResult = async (
  text: string | undefined,
  { handles }: Ports,
  { caller }: CallContext,
): Promise<string | undefined> =>
  text === undefined || text.length <= MAX_SHOWN_CHARS
    ? undefined
    : handles.put(caller, "output", "execute_code result", wrapJson(text));

const keepOutput = async (
  { output }: ProgramResult,
  { handles }: Ports,
  { caller }: CallContext,
): Promise<string | undefined> =>
  isLongOutput(output) ? handles.putText(caller, "output", "execute_code output", output) : undefined;

const input = z.strictObject({
  language: z.enum(["javascript", "typescript", "python"]),
  code: z.string().min(1).max(262_144),
  timeout_s: z.int().min(1).max(86_400).optional(),
  inputs: z.record(z.string(), z.unknown()).default({}).describe("global `inputs`"),
  session: z.string().min(1).max(64).optional().describe("keeps variables"),
});

const callSchema = z.object({
  name: z.string(),
  duration_ms: z.number(),
  ok: z.boolean(),
  /** Why it failed. */
  error_code: z.string().optional(),
  /** It was under way when the program ended: whether it had an effect is not known. */
  cut_off: z.literal(true).optional(),
  /** Its result was a first page. */
  truncated: z.literal(true).optional(),
});

const fileSchema = z.object({
  name: z.string(),
  handle: z.string(),
  /** Of the file. */
  bytes: z.int(),
  /** How the handle holds what is not valid UTF-8. */
  encoding: z.literal("base64").optional(),
});

const errorSchema = z.object({
  name: z.string(),
  message: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
  /** Of a tool call that failed. */
  code: z.string().optional(),
  retryable: z.boolean().optional(),
  /** The bound that the program was ended for. */
  ended: z.string().optional(),
});

const output = z.object({
  data: z.object({
    /** The beginning, where `output_handle` holds the whole. */
    stdout: z.string(),
    /** The value of the last expression. */
    result: z.unknown().optional(),
    error: errorSchema.optional(),
  }),
  meta: z.object({
    duration_ms: z.number(),
    tool_calls: z.array(callSchema),
    files: z.array(fileSchema),
    /** Whether `stdout` is only the beginning, or output or files were dropped. */
    truncated: z.boolean(),
    dropped: z.array(z.enum(["output", "files"])).optional(),
    output_handle: z.string().optional(),
    result_handle: z.string().optional(),
    /** Whether the variables of an earlier program were there. */
    session_kept: z.boolean().optional(),
    /** The time that the program had, where it asked for more than anybody gets. */
    timeout_s: z.number().optional(),
  }),
});

/** The calls of a program in one line, by tool. */
const summarizeCalls = (calls: readonly z.output<typeof callSchema>[]): string => {
  const byName = Map.groupBy(calls, ({ name }) => name);
  return [...byName]
    .map(([name, made]) => {
      const cutOff = made.filter(({ cut_off }) => cut_off === true).length;
      const failed = made.filter(({ ok, cut_off }) => !ok && cut_off !== true);
      const codes = [...new Set(failed.map(({ error_code = "" }) => error_code))].join(", ");
      const notes = [
        ...(failed.length > 0 ? [`${failed.length} failed: ${oneLine(codes)}`] : []),
        ...(cutOff > 0 ? [`${cutOff} cut off`] : []),
      ];
      return `${oneLine(name)} ${made.length}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`;
    })
    .join(", ");
};

/** A program sees no footer that says how to read on, and seldom looks at `truncated`. */
const describePartial = (calls: readonly z.output<typeof callSchema>[]): readonly string[] => {
  const partial = Map.groupBy(
    calls.filter(({ truncated }) => truncated === true),
    ({ name }) => name,
  );
  return [...partial].map(([name, { length }]) => {
    const results = length === 1 ? "1 result was" : `${length} results were`;
    return `[${oneLine(name)}: ${results} cut (truncated is true); pass a larger limit, or read on by offset or handle]`;
  });
};

const describeError = ({ name, code, message, line, column }: z.output<typeof errorSchema>): string => {
  const at = line === undefined ? "" : ` (line ${line}${column === undefined ? "" : `:${column}`})`;
  return `${oneLine(name)}${code === undefined ? "" : ` ${oneLine(code)}`}: ${message}${at}`;
};

const describeResult = (result: unknown, handle: string | undefined): readonly string[] => {
  if (result === undefined) return [];
  const shown = JSON.stringify(result);
  return handle === undefined
    ? [`=> ${shown}`]
    : [`=> ${shown.slice(0, SHOWN_OF_LARGE_CHARS)}…`, `[the whole result: handle:${handle}]`];
};

const linesFor = ({ data, meta }: z.output<typeof output>, printed: string): readonly string[] => [
  ...shownOutput(printed, meta.output_handle),
  ...(meta.dropped === undefined ? [] : [`[dropped, over the limit: ${meta.dropped.join(" and ")}]`]),
  ...describeResult(data.result, meta.result_handle),
  ...(meta.tool_calls.length === 0 ? [] : futureHint(data)),
  ...(data.error === undefined ? [] : [describeError(data.error)]),
  ...meta.files.map(
    ({ name, handle, bytes, encoding }) =>
      `[file ${oneLine(name)}: ${bytes} bytes, ${encoding === undefined ? "" : "in Base64 "}handle:${handle}]`,
  ),
  ...(meta.tool_calls.length === 0 ? [] : [`[calls: ${summarizeCalls(meta.tool_calls)}]`]),
  ...describePartial(meta.tool_calls),
  ...(meta.session_kept === false ? ["[new session]"] : []),
  ...(meta.timeout_s === undefined
    ? []
    : [`[timeout_s was cut to ${meta.timeout_s}: mcp.code_execution.max_timeout_seconds]`]),
];

export const executeCode = defineTool({
  name: "execute_code",
  description:
    "Run a program that calls tools: `await tools.NAME({...})`, `console.log`; the last expression is the result.",
  effect: "execute",
  // The program has a deadline of its own, which is shorter than this.
  timeoutMs: 86_400_000,
  input,
  output,
  run: async (args, ports, call) => {
    const program = await open(args, ports, call);
    const ended = await runToEnd(program, ports, call);
    const { result, error } = ended;
    const dropped = [
      ...(ended.outputCut ? (["output"] as const) : []),
      ...(ended.filesCut ? (["files"] as const) : []),
    ];
    const resultHandle = await keepResult(result, ports, call);
    const outputHandle = await keepOutput(ended, ports, call);
    const stdout = structuredOutput(ended.output);
    return {
      shown: ended.output,
      data: {
        stdout,
        ...(result === undefined ? {} : { result: JSON.parse(result) as unknown }),
        ...(error === undefined
          ? {}
          : { error: withHint(error, args.language, args.code, ended.calls.length > 0) }),
      },
      meta: {
        duration_ms: ended.durationMs,
        tool_calls: ended.calls.map(({ name, durationMs, ok, errorCode, isCutOff, isPartial }) => ({
          name,
          duration_ms: durationMs,
          ok,
          ...(errorCode === undefined ? {} : { error_code: errorCode }),
          ...(isCutOff === true ? { cut_off: true as const } : {}),
          ...(isPartial === true ? { truncated: true as const } : {}),
        })),
        files: await keepFiles(ended, ports, call),
        truncated: dropped.length > 0 || stdout.length < ended.output.length,
        ...(dropped.length === 0 ? {} : { dropped }),
        ...(outputHandle === undefined ? {} : { output_handle: outputHandle }),
        ...(resultHandle === undefined ? {} : { result_handle: resultHandle }),
        ...(args.session === undefined ? {} : { session_kept: program.wasKept }),
        ...((args.timeout_s ?? 0) > program.timeoutSeconds ? { timeout_s: program.timeoutSeconds } : {}),
      },
    };
  },
  // The program chose all of it: whatever is shown goes through here, once.
  render: (answer, { shown }) =>
    showControls(linesFor(answer, shown).join("\n")) || "[no output and no result]",
});
