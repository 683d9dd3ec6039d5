import { type LlmcError, renderForModel, toLlmcError } from "../base/error.ts";
import { familyOf } from "../base/error-table.ts";
import { subjectOf } from "../observe/subject.ts";
import { type ContentBlock, type Question, QuestionsAsked } from "../tools/contract.ts";
import type { Ports, Tool } from "../tools/tool.ts";
import { boundContent } from "./bound.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Guard, Origin } from "./guard.ts";
import { withListedTools } from "./listed-hint.ts";
import { canonicalName } from "./modes.ts";
import { requireScopes } from "./require-scopes.ts";
import { checkOutput, validateArguments } from "./validate.ts";

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
  /** What a tool works with, by its name. */
  readonly portsOf: (tool: string) => Ports;
  readonly guard: Guard;
}

const textOf = (result: CallResult): string => {
  if (result.kind === "error") return JSON.stringify(result.body);
  if (result.kind === "questions") return "";
  const { content } = result;
  const [first] = content;
  if (content.length === 1 && first?.type === "text") return first.text;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
};

/** The one way in which a tool is called, for MCP, HTTP and the command line alike. */
export const createCall = ({ catalogue, settings, portsOf, guard }: PipeParts) => {
  const execute = async (tool: Tool, request: CallRequest): Promise<CallResult> => {
    const checked = validateArguments(tool.input, request.args);
    const args = checked instanceof Promise ? await checked : checked;
    requireScopes(tool.name, [tool.effect], request.caller.may);
    const { timeoutMs, maxOutputBytes, jsonText } = settings();
    const output = await guard.run(request, tool.timeoutMs ?? timeoutMs, (context) =>
      tool.run(args, portsOf(tool.name), context),
    );
    const structured = tool.output === undefined ? undefined : await checkOutput(tool.output, output);
    const asJson = jsonText && structured !== undefined;
    const rendered = asJson ? JSON.stringify(structured) : tool.render(structured ?? output, output);
    const { content, truncated } = boundContent(rendered, maxOutputBytes);
    return { kind: "ok", content, structured, truncated };
  };

  return async (request: CallRequest): Promise<CallResult> => {
    const close = guard.open(request);
    // The caller chooses the name: one that matches no tool must not become a label of logs and metrics.
    let name = "unknown";
    let unlisted: ReadonlySet<string> = new Set();
    let result: CallResult;
    try {
      const offered = catalogue();
      unlisted = offered.unlisted;
      const tool = offered.find(request.tool);
      name = tool.name;
      result = await execute(tool, request);
    } catch (thrown) {
      if (thrown instanceof QuestionsAsked) {
        result = { kind: "questions", questions: thrown.questions, state: thrown.state };
      } else {
        const error = withListedTools(toLlmcError(thrown), unlisted);
        result = {
          kind: "error",
          error,
          body: renderForModel(error, familyOf(canonicalName(request.tool)), request.correlationId),
        };
      }
    }
    close(name, result.kind === "error" ? result.error : undefined, {
      truncated: result.kind === "ok" && result.truncated,
      subject: () => subjectOf(request.args, result.kind === "ok"),
      texts: { input: () => JSON.stringify(request.args ?? {}), output: () => textOf(result) },
    });
    return result;
  };
};

export type Call = ReturnType<typeof createCall>;
