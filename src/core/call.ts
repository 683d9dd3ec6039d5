import { ALLOWED_PROGRAMS, LlmcError, PROMOTED_TOOLS, renderForModel, toLlmcError } from "../base/error.ts";
import { familyOf } from "../base/error-table.ts";
import { subjectOf } from "../observe/subject.ts";
import { outsidePath } from "../policy/paths.ts";
import { type ContentBlock, type Question, QuestionsAsked } from "../tools/contract.ts";
import type { Ports, Tool } from "../tools/tool.ts";
import type { Authorized, Authorizer } from "./authorizer.ts";
import type { CallLog } from "./call-log.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Guard } from "./guard.ts";
import { canonicalName } from "./modes.ts";
import type { Origin } from "./origin.ts";
import { actionOf } from "./requests.ts";
import { checkOutput, validateArguments } from "./validate.ts";

/** Cuts the text of a result to a number of bytes, at the last whole line that fits, and says so. */
const boundText = (
  text: string,
  maxBytes: number,
): { readonly text: string; readonly truncated: boolean } => {
  // A UTF-16 unit is at most three bytes of UTF-8: most texts need no counting at all.
  if (text.length * 3 <= maxBytes) return { text, truncated: false };
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return { text, truncated: false };
  const cut = Buffer.from(text)
    .subarray(0, maxBytes)
    .toString("utf8")
    .replace(/\uFFFD$/, "");
  const lastLine = cut.lastIndexOf("\n");
  const kept = lastLine > maxBytes / 2 ? cut.slice(0, lastLine) : cut;
  return {
    text: `${kept}\n[cut: ${Buffer.byteLength(kept)} of ${bytes} bytes; ask for a smaller part]`,
    truncated: true,
  };
};

const boundContent = (
  rendered: string | readonly ContentBlock[],
  maxBytes: number,
): { readonly content: readonly ContentBlock[]; readonly truncated: boolean } => {
  const blocks: readonly ContentBlock[] =
    typeof rendered === "string" ? [{ type: "text", text: rendered }] : rendered;
  let truncated = false;
  const content = blocks.map((block): ContentBlock => {
    if (block.type !== "text") return block;
    const bounded = boundText(block.text, maxBytes);
    truncated ||= bounded.truncated;
    return bounded.truncated ? { type: "text", text: bounded.text } : block;
  });
  return { content, truncated };
};

/**
 * The same error with a hint that the caller can follow: sentences that name a tool which the mode does not list are
 * left out, and those that offer one which it lists. Whoever throws an error need not know the mode; a second way out is a sentence of its own.
 */
const withListedTools = (error: LlmcError, unlisted: ReadonlySet<string>): LlmcError => {
  const { code, message, hint, details, retryable, cause, needs } = error;
  if (hint === undefined) return error;
  const sentences = hint.split(/(?<=[.?!]) /);
  const kept = sentences.filter((sentence) => {
    const namesUnlisted = (sentence.match(/\w+/g) ?? []).some((word) => unlisted.has(word));
    if (sentence.includes(PROMOTED_TOOLS)) return namesUnlisted;
    // Some programs have the name of a tool (stat).
    return sentence.startsWith(ALLOWED_PROGRAMS) || !namesUnlisted;
  });
  if (kept.length === sentences.length) return error;
  const left = kept.length === 0 ? {} : { hint: kept.join(" ") };
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
      readonly truncated: boolean;
    }
  | { readonly kind: "error"; readonly error: LlmcError; readonly body: ReturnType<typeof renderForModel> }
  | {
      readonly kind: "questions";
      readonly questions: Readonly<Record<string, Question>>;
      readonly state: unknown;
    };

export interface PipeSettings {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly jsonText: boolean;
}

interface PipeParts {
  readonly catalogue: () => Catalogue;
  readonly settings: () => PipeSettings;
  /** What a tool works with, by its name; with `outside`, it reaches these paths besides the roots. */
  readonly portsOf: (tool: string, outside: readonly string[]) => Ports;
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

/** Whether something is there that the rules would let a tool read, if it lay in a root. */
const isReadable = async (files: Ports["files"], path: string, signal?: AbortSignal): Promise<boolean> => {
  try {
    const { type } = await files.stat(path, signal);
    if (type === "file") await files.readLines(path, [{ firstLine: 1, lastLine: 1 }], signal);
    return true;
  } catch (error) {
    // What is no text, or too large, is still readable in another way.
    return !["path_denied", "file_not_found", "permission_denied"].includes(toLlmcError(error).code);
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
  /** Throws what refuses a path that nobody may allow; one that does not exist is not asked about either. */
  probe: (path: string) => Promise<boolean>,
  run: (outside: readonly string[]) => Promise<T>,
): Promise<T> => {
  const reachesFiles = actionOf(tool).about.includes("File");
  const outside: string[] = [];
  for (;;) {
    try {
      return await run(outside);
    } catch (thrown) {
      const path = thrown instanceof LlmcError ? outsidePath(thrown) : undefined;
      if (path === undefined || !reachesFiles || outside.includes(path) || outside.length >= MAX_OUTSIDE)
        throw thrown;
      if (!(await probe(path))) throw thrown;
      permitPath(path, thrown as LlmcError);
      outside.push(path);
    }
  }
};

/** The one way in which a tool is called, for MCP, HTTP and the command line alike. */
export const createCall = ({ catalogue, settings, portsOf, guard, authorizer, dispatcher }: PipeParts) => {
  const execute = async (tool: Tool, request: CallRequest, log: CallLog): Promise<CallResult> => {
    const args = await validateArguments(tool.input, request.args);
    const authorized = authorizer.authorize(tool, request, args, log);
    const { timeoutMs, maxOutputBytes, jsonText } = settings();
    const run = (outside: readonly string[]) =>
      dispatcher.run(tool, request, () =>
        guard.run(
          authorized.request,
          tool.timeoutMs ?? timeoutMs,
          (context) => tool.run(args, portsOf(tool.name, outside), context),
          tool.effect,
        ),
      );
    const probe = (path: string) => isReadable(portsOf(tool.name, [path]).files, path, request.signal);
    const output = await runWithPaths(tool, authorized, probe, run);
    const structured = tool.output === undefined ? undefined : await checkOutput(tool.output, output);
    const asJson = jsonText && structured !== undefined;
    const rendered = asJson ? JSON.stringify(structured) : tool.render(structured ?? output, output);
    const { content, truncated } = boundContent(rendered, maxOutputBytes);
    return { kind: "ok", content, structured, truncated };
  };

  const failed = (
    thrown: unknown,
    request: CallRequest,
    unlisted: ReadonlySet<string>,
  ): Exclude<CallResult, { kind: "ok" }> => {
    if (thrown instanceof QuestionsAsked)
      return { kind: "questions", questions: thrown.questions, state: thrown.state };
    const error = withListedTools(toLlmcError(thrown), unlisted);
    const family = familyOf(canonicalName(request.tool));
    return { kind: "error", error, body: renderForModel(error, family, request.correlationId) };
  };

  return async (request: CallRequest): Promise<CallResult> => {
    // The caller chooses the name: one that matches no tool must not become a label of logs and metrics.
    const log = guard.open(request, { tool: "unknown", input: () => JSON.stringify(request.args ?? {}) });
    let unlisted: ReadonlySet<string> = new Set();
    let result: CallResult;
    try {
      const loading = log.ready();
      if (loading !== undefined) await loading;
      const offered = catalogue();
      unlisted = offered.unlisted;
      const tool = offered.find(request.tool);
      log.name(tool.name);
      result = await execute(tool, request, log);
    } catch (thrown) {
      result = failed(thrown, request, unlisted);
    }
    try {
      log.close(
        result.kind === "error" ? result.error : result.kind === "questions" ? "questions" : undefined,
        {
          truncated: result.kind === "ok" && result.truncated,
          subject: () => subjectOf(request.args, result.kind === "ok"),
          output: () => textOf(result),
        },
      );
    } catch (unrecorded) {
      return failed(unrecorded, request, unlisted);
    }
    return result;
  };
};

export type Call = ReturnType<typeof createCall>;
