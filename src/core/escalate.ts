import { type LlmcError, withHint } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { isDefaultPolicy } from "../policy/cedar/default-policies.ts";
import type { PolicyContext, PolicyDecision, PolicyRequest } from "../policy/cedar/model.ts";
import { type Judgement, judge } from "../policy/cedar/outcome.ts";
import { showCall } from "../policy/show-call.ts";
import { type Caller, QuestionsAsked } from "../tools/contract.ts";
import { ANSWER, type Answer, describeAnswer, readAnswer, SCHEMA } from "./answers.ts";
import { argumentsText } from "./arguments-text.ts";
import type { Answered, CallLog, Decided } from "./call-log.ts";
import type { Grants } from "./grants.ts";
import type { ModeSettings } from "./modes.ts";
import type { Origin } from "./origin.ts";
import { requestsFor, type Subject } from "./requests.ts";

/** The policies in force; the wiring provides it. */
export interface Policy {
  decide(request: PolicyRequest): PolicyDecision;
  /** Of a policy that leaves something to the user: the question. */
  promptOf(policy: string): string | undefined;
  /** Changes with the policies: lists that leave out what they forbid may have changed, too. */
  version(): number;
}

export interface AuthorizerSettings extends Pick<ModeSettings, "mode"> {
  /** `mcp.security.air_gapped_mode`. */
  readonly airGapped: boolean;
  /** `mcp.security.escalation_prompts`. */
  readonly asksUsers: boolean;
  readonly maxQuestionsPerMinute: number;
  /** `mcp.security.question_timeout_seconds`. */
  readonly questionTimeoutMs: number;
}

/** What becomes of a question, as it is counted: it is asked or not asked, because there were too many, and later answered. */
export type QuestionEvent = "asked" | "not_asked" | Answered["answer"];

export interface AuthorizerParts {
  readonly policy: Policy;
  readonly settings: () => AuthorizerSettings;
  readonly workspace: string;
  readonly grants: Grants;
  readonly digest: (text: string) => string;
  readonly onQuestion: (event: QuestionEvent) => void;
  /** Replaces the server's own secrets: a question is shown by a client. */
  readonly hideSecrets: (text: string) => string;
}

/** What is decided, and what happens where only the user's consent is missing. */
export interface Asked extends Subject {
  /** What a user grants when they agree: the same key is the same thing to them. */
  readonly key: string;
  /** What a user refuses for good, where that is more than the key: a program under any name, whatever it holds by then. */
  readonly neverKey?: string;
  /** What the user has to know besides the call; no model can phrase it. Undefined where nobody is to be asked. */
  readonly facts: () => readonly string[] | undefined;
  /** What follows the question. */
  readonly note?: string;
  /** What `llmc allow` would grant for good. */
  readonly allow?: readonly string[];
  readonly refuse: (decision: PolicyDecision) => LlmcError;
}

/** One call while it is decided on. */
export interface CallState {
  readonly parts: AuthorizerParts;
  readonly origin: Origin;
  /** The name of the tool, or of an HTTP endpoint that is not a tool. */
  readonly called: string;
  /** Records decisions and answers, and throws where one cannot be recorded and must be. */
  readonly log: Pick<CallLog, "decide" | "answered">;
  /** What the tool was called with. */
  readonly args: unknown;
  /** What was granted to this call alone, and how its last question was answered. */
  readonly resumed: Resumed;
}

interface Resumed {
  readonly granted: ReadonlySet<string>;
  /** What the last question was about, and how it ended. */
  readonly answered: { readonly key: string; readonly answer: Answer } | undefined;
  /** Where the tool itself asked: what it left, which it gets back with the answers. */
  readonly toolState?: { readonly state: unknown };
}

/** What a decision is about, by its resource; all others are about the call as a whole. */
const SUBJECTS: Readonly<Record<string, Decided["about"]>> = {
  Command: "program",
  File: "path",
  Host: "host",
  Collection: "collection",
  Flow: "flow",
};

const TICKET = "llmc_ticket";

export const contextOf = (
  { settings }: AuthorizerParts,
  { budgetProfile = "" }: Caller,
  granted: boolean,
): PolicyContext => {
  const { mode, airGapped } = settings();
  return { mode, profile: budgetProfile, air_gapped: airGapped, granted };
};

/** What policy says about something that a caller does; `given` replaces what is so at the moment. */
export const judgeFor = (
  parts: AuthorizerParts,
  caller: Caller,
  subject: Subject,
  given: Partial<PolicyContext> = {},
): Judgement =>
  judge(parts.policy.decide, (agrees) =>
    requestsFor(subject, caller, {
      ...contextOf(parts, caller, agrees),
      ...given,
      granted: agrees || given.granted === true,
    }),
  );

/** The question of the policy that leaves the decision to the user: the operator's own before a default. */
export const promptFor = (
  { promptOf }: Policy,
  { decision, agreed }: Extract<Judgement, { readonly outcome: "ask" }>,
): string => {
  const ids = [...decision.policies, ...agreed.policies];
  const prompts = [...ids.filter((id) => !isDefaultPolicy(id)), ...ids.filter(isDefaultPolicy)].map(promptOf);
  return prompts.find((text) => text !== undefined) ?? "Allow this?";
};

const ticketOf = ({ state }: Origin): unknown => (isRecord(state) ? state[TICKET] : undefined);

/** The origin as the tool gets it: answers to our own question are not for the tool. */
export const originForTool = <R extends Origin>(origin: R, { toolState }: Resumed): R => {
  if (ticketOf(origin) === undefined) return origin;
  return toolState === undefined
    ? { ...origin, state: undefined, answers: undefined }
    : { ...origin, state: toolState.state };
};

/** Whether the user's consent counts for this caller: over HTTP, only the operator's own token widens what it was given. */
export const countsConsent = (
  { settings }: AuthorizerParts,
  { transport, may }: Pick<Caller, "transport" | "may">,
): boolean => settings().asksUsers && (transport !== "http" || may.has("admin"));

const callDigest = ({ parts, called, args }: Pick<CallState, "parts" | "called" | "args">): string =>
  parts.digest(argumentsText([called, args], parts.digest));

const NOTHING_RESUMED: Resumed = { granted: new Set(), answered: undefined };

/**
 * Of a call that was suspended for a question: what was granted to it, and what was answered. The answer is recorded here,
 * once, whatever becomes of the call, and before it counts.
 */
export const resume = (state: Omit<CallState, "resumed">): Resumed => {
  const { parts, origin, log } = state;
  const { caller, answers } = origin;
  const ticket = ticketOf(origin);
  if (ticket === undefined) return NOTHING_RESUMED;
  const kept = parts.grants.resume(ticket, caller.owner, callDigest(state));
  if (kept === undefined) return NOTHING_RESUMED;
  if (kept.question === undefined)
    return { granted: new Set(kept.granted), answered: undefined, toolState: { state: kept.toolState } };
  const { asked, never, decided } = kept.question;
  const answer = readAnswer(answers);
  // The token may have lost its scope since it was asked.
  const isYes = (answer === "once" || answer === "session") && countsConsent(parts, caller);
  parts.onQuestion(answer);
  log.answered({ ...decided, allowed: isYes, answer });
  if (answer === "never") parts.grants.record(caller.owner, never, answer);
  if (answer === "session" && isYes) parts.grants.record(caller.owner, asked, answer);
  return { granted: new Set([...kept.granted, ...(isYes ? [asked] : [])]), answered: { key: asked, answer } };
};

const decidedOn = (
  { called }: CallState,
  { action, resources }: Subject,
  { allowed, policies }: PolicyDecision,
): Decided => {
  const [{ type, id }] = resources;
  const [effect = "", family] = action.groups;
  const about = SUBJECTS[type] ?? (action.name === called ? "call" : "files");
  return {
    allowed,
    policies,
    about,
    tool: called,
    effect,
    isReadOnly: effect === "read" && family !== "admin",
    ...(family === undefined ? {} : { group: family }),
    ...(about === "call" ? {} : { action: action.name }),
    ...(about === "call" || about === "files" ? {} : { resource: id }),
  };
};

/** Ends this round of the call with a question, unless nobody can or wants to be asked; says why, where the call can change it. */
const ask = (
  state: CallState,
  asked: Asked,
  judged: Extract<Judgement, { readonly outcome: "ask" }>,
): string | undefined => {
  const { parts, origin, resumed } = state;
  const { grants, settings, policy } = parts;
  const { caller, canAsk, canConsent } = origin;
  const canAnswer = canConsent ?? canAsk?.("form") === true;
  if (!canAnswer || grants.isRefused(caller.owner, asked.neverKey ?? asked.key)) return undefined;
  const facts = asked.facts();
  if (facts === undefined) return undefined;
  const call = showCall(state.called, state.args);
  if (call === undefined) return "The user was not asked, because the call is too long to be shown whole";
  if (!grants.mayAsk(caller.owner, settings().maxQuestionsPerMinute)) {
    parts.onQuestion("not_asked");
    return "The user was not asked, because there were too many questions within a minute";
  }
  const ticket = grants.suspend({
    owner: caller.owner,
    call: callDigest(state),
    granted: [...resumed.granted],
    question: {
      asked: asked.key,
      never: asked.neverKey ?? asked.key,
      decided: decidedOn(state, asked, judged.agreed),
    },
  });
  const { note, allow } = asked;
  const lines = [call, ...facts, promptFor(policy, judged), ...(note === undefined ? [] : [note])];
  const message = parts.hideSecrets(lines.join("\n"));
  parts.onQuestion("asked");
  const timeoutMs = settings().questionTimeoutMs;
  const form = { kind: "form", message, schema: SCHEMA, timeoutMs, ...(allow && { allow }) } as const;
  throw new QuestionsAsked({ [ANSWER]: form }, { [TICKET]: ticket });
};

/**
 * A question of the tool itself, or of a program that it runs: what the user has agreed to for this call must not be asked
 * again when the answer comes, so a ticket keeps it together with the tool's state.
 */
export const keepGrants = ({ parts, origin, resumed, ...call }: CallState, thrown: unknown): unknown => {
  if (!(thrown instanceof QuestionsAsked) || resumed.granted.size === 0) return thrown;
  const { questions, state } = thrown;
  if (isRecord(state) && state[TICKET] !== undefined) return thrown;
  const ticket = parts.grants.suspend({
    owner: origin.caller.owner,
    call: callDigest({ parts, ...call }),
    granted: [...resumed.granted],
    toolState: state,
  });
  return new QuestionsAsked(questions, { [TICKET]: ticket });
};

/** Returns if it is allowed, and whether by the user's consent; throws the refusal, or the question to the user. */
export const check = (state: CallState, asked: Asked): { readonly isGranted: boolean } => {
  const { parts, origin, log, resumed } = state;
  const { caller } = origin;
  const { key } = asked;
  const judged = judgeFor(parts, caller, asked);
  const isLeftToUser = judged.outcome === "ask" && countsConsent(parts, caller);
  const isGranted = isLeftToUser && (resumed.granted.has(key) || parts.grants.has(caller.owner, key));
  const answer = resumed.answered?.key === key ? resumed.answered.answer : undefined;
  const unasked = isLeftToUser && !isGranted && answer === undefined ? ask(state, asked, judged) : undefined;
  const decision = isGranted ? judged.agreed : judged.decision;
  log.decide(decidedOn(state, asked, decision));
  if (decision.allowed) return { isGranted };
  const isRefused = isLeftToUser && parts.grants.isRefused(caller.owner, asked.neverKey ?? key);
  throw withHint(asked.refuse(decision), unasked ?? describeAnswer(isRefused ? "never" : answer));
};
