import { LlmcError } from "../base/error.ts";
import { parseGuarded } from "../base/json-guard.ts";
import { cleanName } from "../base/text.ts";
import type { CallRequest, CallResult } from "../core/call.ts";
import { EFFECTS, LOCAL, type Question } from "../core/contract.ts";
import type { Core } from "../core/core.ts";
import type { Io } from "./io.ts";

interface CallOptions {
  readonly tool: string;
  /** The arguments as JSON; `-` reads them from stdin. */
  readonly args: string;
  /** Print the structured result as JSON. */
  readonly json: boolean;
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly model?: string | undefined;
  /** What `llmc allow` does for these programs and powers. */
  readonly allow: (names: readonly string[]) => Promise<void>;
  readonly correlationId: string;
  readonly signal: AbortSignal;
}

/** More than any tool takes as its arguments. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** What is typed or piped in, unless ctrl-c comes first. */
const readInput = (io: Io, signal: AbortSignal): Promise<string> =>
  Promise.race([
    io.readInput(MAX_INPUT_BYTES),
    new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(new LlmcError("cancelled", "The call was cancelled.")), {
        once: true,
      }),
    ),
  ]);

/** A person's own calls are not those of a client. */
export const CLI_AGENT = "llmc-cli";

const parseArguments = async (json: string, io: Io, signal: AbortSignal): Promise<unknown> => {
  const text = json === "-" ? await readInput(io, signal) : json;
  try {
    return parseGuarded(text);
  } catch (thrown) {
    const reason = thrown instanceof LlmcError ? thrown.message : "Not valid JSON.";
    throw new LlmcError("invalid_args", `--args: ${reason}`, {
      hint: `Give an object, such as --args '{"path":"."}', or - to read it from stdin.`,
    });
  }
};

/** How many invalid answers are accepted before the question counts as declined. */
const MAX_TRIES = 3;

/**
 * The words of the question count as well as the letters: this program makes one call, which is all of a session that
 * there is.
 */
const ANSWERS: readonly (readonly [RegExp, "yes" | "always" | "no"])[] = [
  [/^(?:y|yes|once|session)$/i, "yes"],
  [/^(?:a|always)$/i, "always"],
  [/^(?:n|no|never|)$/i, "no"],
];

const askUntilClear = async (
  io: Io,
  offersAlways: boolean,
  tries = MAX_TRIES,
): Promise<"yes" | "always" | "no"> => {
  const given = (await io.ask(offersAlways ? "[y]es, this time; [a]lways; [N]o?" : "[y]es, [N]o?")).trim();
  const answer = ANSWERS.find(([pattern]) => pattern.test(given))?.[1];
  if (answer !== undefined && (answer !== "always" || offersAlways)) return answer;
  return tries <= 1 ? "no" : askUntilClear(io, offersAlways, tries - 1);
};

/** The person's answer to a question for consent, in the form that clients give it. */
const askPerson = async (
  { message, allow = [] }: Extract<Question, { readonly kind: "form" }>,
  io: Io,
  allowForGood: CallOptions["allow"],
): Promise<unknown> => {
  io.err(`${message}\n`);
  const answer = await askUntilClear(io, allow.length > 0);
  if (answer === "no") return { action: "decline" };
  if (answer === "always") await allowForGood(allow);
  return { action: "accept", content: { grant: "once" } };
};

/** The person's own call, in the way in which any client makes one. */
export const requestOf = (
  core: Core,
  { tool, correlationId, signal, ...names }: Omit<CallOptions, "args" | "json" | "allow">,
  args: unknown,
  onProgress: (done: number, total?: number, message?: string) => void,
): CallRequest => {
  const { defaultModel, defaultBudgetProfile } = core.settings();
  return {
    tool,
    args,
    correlationId,
    signal,
    caller: {
      agentId: cleanName(names.agent ?? CLI_AGENT),
      sessionId: cleanName(names.session ?? correlationId),
      model: cleanName(names.model ?? defaultModel),
      budgetProfile: defaultBudgetProfile,
      transport: "cli",
      principal: LOCAL,
      owner: `cli:${correlationId}`,
      may: new Set<string>(EFFECTS),
    },
    progress: async (...progress) => onProgress(...progress),
  };
};

/** Calls until no question is left. Other questions than those for consent are for clients. */
export const callAsking = async (
  core: Core,
  request: CallRequest,
  io: Io,
  allow: CallOptions["allow"],
): Promise<Exclude<CallResult, { readonly kind: "questions" }>> => {
  const result = await core.call({ ...request, canConsent: io.canAsk });
  if (result.kind !== "questions") return result;
  const consent = result.questions["grant"];
  if (!io.canAsk || consent?.kind !== "form")
    throw new LlmcError(
      "unavailable",
      "This tool asks its user questions, which the command line cannot do.",
      { hint: "Call it from an MCP client." },
    );
  const answers = { grant: await askPerson(consent, io, allow) };
  return callAsking(core, { ...request, answers, state: result.state }, io, allow);
};

/** Calls one tool in the same way as any client does. The result goes to stdout; a failure is thrown. */
export const runCall = async (core: Core, io: Io, options: CallOptions): Promise<void> => {
  const args = await parseArguments(options.args, io, options.signal);
  const request = requestOf(core, options, args, (done, total, message = "working") => {
    if (io.canRedraw) io.err(`${message} ${done}${total === undefined ? "" : `/${total}`}\n`);
  });
  const result = await callAsking(core, request, io, options.allow);
  if (result.kind === "error") {
    if (options.json) io.data(`${JSON.stringify(result.body)}\n`);
    throw result.error;
  }
  if (options.json) {
    io.data(`${JSON.stringify(result.structured ?? result.content)}\n`);
    return;
  }
  for (const block of result.content) {
    const text = block.type === "text" ? block.text : JSON.stringify(block);
    io.data(text.endsWith("\n") ? text : `${text}\n`);
  }
};
