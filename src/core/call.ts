import {
  ALLOWED_PROGRAMS,
  LlmcError,
  PROMOTED_TOOLS,
  renderForModel,
  toLlmcError,
  withCode,
} from "../base/error.ts";
import { familyOf } from "../base/error-table.ts";
import { isRecord } from "../base/is-record.ts";
import { subjectOf } from "../observe/subject.ts";
import { outsidePath } from "../policy/paths.ts";
import type { GrantedPath, GrantedPaths } from "../policy/permit.ts";
import { type ContentBlock, type Question, QuestionsAsked } from "../tools/contract.ts";
import type { Ports, Tool } from "../tools/tool.ts";
import { argumentsText } from "./arguments-text.ts";
import type { Authorized, Authorizer } from "./authorizer.ts";
import { boundContent, checkStructured, MAX_RESULT_BYTES } from "./bound-result.ts";
import type { CallLog } from "./call-log.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Guard } from "./guard.ts";
import { canonicalName, type Mode } from "./modes.ts";
import type { Origin } from "./origin.ts";
import { actionOf } from "./requests.ts";
import { checkOutput, validateArguments } from "./validate.ts";

/** The tool whose programs reach what a mode does not list. */
const PROGRAMS = "execute_code";

/**
 * The same error with a hint that the caller can follow: sentences that name a tool which the mode does not list are
 * left out, and those that offer one which it lists. An offer comes with the way that needs no operator: programs call every
 * tool. Whoever throws an error need not know the mode; a second way out is a sentence of its own.
 */
const withListedTools = (
  error: LlmcError,
  unlisted: ReadonlySet<string>,
  mode: Mode | undefined,
): LlmcError => {
  const { code, message, hint, details, retryable, cause, needs } = error;
  if (hint === undefined) return error;
  const sentences = hint.split(/(?<=[.?!]) /);
  const kept = sentences.flatMap((sentence) => {
    const tool = (sentence.match(/\w+/g) ?? []).find((word) => unlisted.has(word));
    if (sentence.includes(PROMOTED_TOOLS)) {
      if (tool === undefined) return [];
      const byProgram = unlisted.has(PROGRAMS) ? [] : [`A program (${PROGRAMS}) can call ${tool}.`];
      // Other modes have lists of their own, which the key does not change.
      return mode === "hybrid" ? [...byProgram, sentence] : byProgram;
    }
    // Some programs have the name of a tool (stat).
    return sentence.startsWith(ALLOWED_PROGRAMS) || tool === undefined ? [sentence] : [];
  });
  const changed = kept.join(" ");
  if (changed === hint) return error;
  const left = changed === "" ? {} : { hint: changed };
  return new LlmcError(code, message, { ...left, details, retryable, cause, needs });
};

export interface CallRequest extends Origin {
  readonly tool: string;
  readonly args: unknown;
}

export type CallResult =
  | {
      readonly kind: "ok";
      readonly content: readonly ContentBlock[];
      readonly structured: unknown;
      /** The answer as the published API gives it, where that is a list, which structured content cannot be. */
      readonly list?: readonly unknown[];
      readonly truncated: boolean;
    }
  | { readonly kind: "error"; readonly error: LlmcError; readonly body: ReturnType<typeof renderForModel> }
  | {
      readonly kind: "questions";
      readonly questions: Readonly<Record<string, Question>>;
      readonly state: unknown;
    };

/** A failure as the result of a call. */
export const failedCall = (
  error: LlmcError,
  tool: string,
  correlationId: string,
): Extract<CallResult, { kind: "error" }> => ({
  kind: "error",
  error,
  body: renderForModel(error, familyOf(canonicalName(tool)), correlationId),
});

export interface PipeSettings {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly jsonText: boolean;
}

interface PipeParts {
  readonly catalogue: () => Catalogue;
  readonly settings: () => PipeSettings;
  /** What a tool works with, by its name, and what it reaches besides the roots. */
  readonly portsOf: (tool: string, granted: GrantedPaths) => Ports;
  readonly realPathOf: (path: string) => Promise<string | undefined>;
  readonly guard: Guard;
  readonly authorizer: Authorizer;
  readonly dispatcher: Dispatcher;
}

const textOf = (result: CallResult): string => {
  if (result.kind === "error") return JSON.stringify(result.body);
  if (result.kind === "questions") return "";
  const { content } = result;
  const [first] = content;
  if (content.length === 1 && first?.type === "text") return first.text;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
};

const listOf = ({ list }: Tool, structured: unknown): readonly unknown[] | undefined => {
  const held: unknown = list !== undefined && isRecord(structured) ? structured[list] : undefined;
  return Array.isArray(held) ? held : undefined;
};

/** Why the rules would not let a tool read what is there, if it lay in a root; undefined if they would. */
export const refusalOf = async (
  files: Ports["files"],
  path: string,
  signal?: AbortSignal,
): Promise<LlmcError | undefined> => {
  try {
    const { type } = await files.stat(path, signal);
    if (type === "file") await files.readLines(path, [{ firstLine: 1, lastLine: 1 }], signal);
    return undefined;
  } catch (thrown) {
    const error = toLlmcError(thrown);
    // What is no text, or too large, is still readable in another way.
    return ["path_denied", "file_not_found", "permission_denied"].includes(error.code) ? error : undefined;
  }
};

/** More than a tool names in one call. */
const MAX_OUTSIDE = 16;

/**
 * Runs a tool that reads again with each path that policy or the user allow besides the roots. What is changed outside the
 * roots is the operator's decision (mcp.tools.allowed_roots): nobody reviews it there.
 */
const runWithPaths = async <T>(
  tool: Tool,
  { permitPath }: Pick<Authorized<Origin>, "permitPath">,
  /** Undefined where nobody may allow a path; one that does not exist is not asked about either. */
  probe: (path: string) => Promise<GrantedPath | undefined>,
  run: (outside: readonly GrantedPath[]) => Promise<T>,
): Promise<T> => {
  const reachesFiles = actionOf(tool).about.includes("File");
  const outside: GrantedPath[] = [];
  for (;;) {
    try {
      return await run(outside);
    } catch (thrown) {
      const path = thrown instanceof LlmcError ? outsidePath(thrown) : undefined;
      if (path === undefined || !reachesFiles || outside.length >= MAX_OUTSIDE) throw thrown;
      // What was granted is not outside any more; where it leads elsewhere by now, it is refused for good.
      const found = outside.some((one) => one.path === path) ? undefined : await probe(path);
      if (found === undefined) throw thrown;
      permitPath(found, thrown as LlmcError);
      outside.push(found);
    }
  }
};

/** The one way in which a tool is called, for MCP, HTTP and the command line alike. */
export const createCall = (parts: PipeParts) => {
  const { catalogue, settings, portsOf, realPathOf, guard, authorizer, dispatcher } = parts;
  const execute = async (tool: Tool, request: CallRequest, log: CallLog): Promise<CallResult> => {
    const args = await validateArguments(tool.input, request.args);
    const authorized = authorizer.authorize(tool, request, args, log);
    const { timeoutMs, maxOutputBytes, jsonText } = settings();
    const run = (paths: readonly GrantedPath[]) =>
      dispatcher.run(tool, request, () =>
        guard.run(
          authorized.request,
          tool.timeoutMs ?? timeoutMs,
          (context) =>
            tool.run(args, portsOf(tool.name, { paths, forbids: authorized.forbidsPath }), context),
          tool.effect,
        ),
      );
    const probe = async (path: string): Promise<GrantedPath | undefined> => {
      const realPath = await realPathOf(path);
      if (realPath === undefined) return undefined;
      const found = { path, realPath };
      const { files } = portsOf(tool.name, { paths: [found], forbids: () => false });
      return (await refusalOf(files, path, request.signal)) === undefined ? found : undefined;
    };
    const output = await runWithPaths(tool, authorized, probe, run).catch((thrown: unknown) => {
      throw authorized.keepGrants(thrown);
    });
    const structured = tool.output === undefined ? undefined : await checkOutput(tool.output, output);
    const asJson = jsonText && structured !== undefined;
    const list = listOf(tool, structured);
    const rendered = asJson ? JSON.stringify(list ?? structured) : tool.render(structured ?? output, output);
    const structuredBytes = checkStructured(list === undefined ? structured : [structured, list]);
    const { content, truncated } = boundContent(rendered, maxOutputBytes, MAX_RESULT_BYTES - structuredBytes);
    return { kind: "ok", content, structured, ...(list && { list }), truncated };
  };

  const failed = (
    thrown: unknown,
    request: CallRequest,
    unlisted: ReadonlySet<string>,
    tool: Tool | undefined,
    mode: Mode | undefined,
  ): Exclude<CallResult, { kind: "ok" }> => {
    if (thrown instanceof QuestionsAsked)
      return { kind: "questions", questions: thrown.questions, state: thrown.state };
    const error = toLlmcError(thrown);
    const reported = withCode(error, tool?.reportedCode?.(error.code) ?? error.code);
    return failedCall(withListedTools(reported, unlisted, mode), request.tool, request.correlationId);
  };

  return async (request: CallRequest): Promise<CallResult> => {
    // The caller chooses the name: one that matches no tool must not become a label of logs and metrics.
    const log = guard.open(request, {
      tool: "unknown",
      input: (digest) => argumentsText(request.args, digest),
    });
    /** What a hint may not send this caller to. */
    let unlisted = (): ReadonlySet<string> => new Set();
    let result: CallResult;
    let tool: Tool | undefined;
    let mode: Mode | undefined;
    try {
      const loading = log.ready();
      if (loading !== undefined) await loading;
      const offered = catalogue();
      mode = offered.settings.mode;
      unlisted = () =>
        new Set([
          ...offered.unlisted,
          ...offered.tools.flatMap((each) =>
            authorizer.isPossible(each, request.caller) ? [] : [each.name],
          ),
        ]);
      tool = offered.find(request.tool);
      log.name(tool.name);
      result = await execute(tool, request, log);
    } catch (thrown) {
      result = failed(thrown, request, unlisted(), tool, mode);
    }
    try {
      log.close(
        result.kind === "error" ? result.error : result.kind === "questions" ? "questions" : undefined,
        {
          truncated: result.kind === "ok" && result.truncated,
          subject: () =>
            subjectOf(request.args, result.kind === "ok" ? tool?.pathArgument : undefined, log.input),
          output: () => textOf(result),
        },
      );
    } catch (unrecorded) {
      return failed(unrecorded, request, unlisted(), tool, mode);
    }
    return result;
  };
};

export type Call = ReturnType<typeof createCall>;
