import { type LlmcError, withHint } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import type { PolicyAction, PolicyDecision, PolicyRequest, PolicyResource } from "../policy/cedar/model.ts";
import { type Caller, principalName, type Question, QuestionsAsked } from "../tools/contract.ts";
import type { CallLog, Decided } from "./call-log.ts";
import type { Grants } from "./grants.ts";
import type { ModeSettings } from "./modes.ts";
import type { Origin } from "./origin.ts";

/** The policies in force; the wiring provides it. */
export interface Policy {
  decide(request: PolicyRequest): PolicyDecision;
  /** Of a policy that permits only what the user agrees to: the question. */
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
}

export interface AuthorizerParts {
  readonly policy: Policy;
  readonly settings: () => AuthorizerSettings;
  readonly workspace: string;
  readonly grants: Grants;
  readonly digest: (text: string) => string;
  /** Called with each answer of a user. */
  readonly onAnswer: (answer: string) => void;
}

/** What is decided, and what happens where only the user's consent is missing. */
export interface Asked {
  readonly action: PolicyAction;
  readonly resource: PolicyResource;
  /** What a user grants when they agree: the same key is the same thing to them. */
  readonly key: string;
  /** The action as the server understood it; no model can phrase it. Undefined if it cannot be shown as a whole. */
  readonly question: () => string | undefined;
  /** What `llmc allow` would grant for good. */
  readonly allow?: readonly string[];
  readonly refuse: (decision: PolicyDecision) => LlmcError;
}

/** One call while it is decided on. */
export interface CallState {
  readonly parts: AuthorizerParts;
  readonly origin: Origin;
  /** Records a decision, and throws where it cannot be recorded and must be. */
  readonly onDecision: CallLog["decide"];
  /** What the tool was called with. */
  readonly args: unknown;
  /** Tool and arguments, as a digest: an answer counts for the very call that it was asked for. */
  readonly call: () => string;
  /** What was granted to this call alone, and how its last question was answered; read when it is needed. */
  resumed: Resumed | undefined;
}

interface Resumed {
  readonly granted: ReadonlySet<string>;
  readonly answered: { readonly key: string; readonly answer: Answer } | undefined;
}

/** What a decision is about, by its resource; all others are about the call as a whole. */
const SUBJECTS: Readonly<Record<string, "program" | "path">> = { Command: "program", File: "path" };

const ANSWER = "grant";
const TICKET = "llmc_ticket";

type Answer = NonNullable<Decided["answer"]>;

const SCHEMA: Extract<Question, { readonly kind: "form" }>["schema"] = {
  type: "object",
  properties: {
    [ANSWER]: {
      type: "string",
      title: "Allow",
      description:
        "once: only this call. session: until this connection, or over HTTP the server, ends. never: do not ask again.",
      enum: ["once", "session", "never"],
      default: "once",
    },
  },
};

/** Accepted without content is a yes to this one call. Everything that is not clearly a yes is a no. */
const readAnswer = (answers: Origin["answers"]): Answer => {
  const given = answers?.[ANSWER];
  if (typeof given !== "object" || given === null || !("action" in given) || given.action !== "accept")
    return "declined";
  const content = "content" in given ? given.content : undefined;
  if (content === undefined || content === null) return "once";
  if (!isRecord(content)) return "declined";
  const { [ANSWER]: value } = content;
  if (value === undefined) return "once";
  return value === "once" || value === "session" || value === "never" ? value : "declined";
};

/** By the set, which lives as long as its connection or token. */
const scopeLists = new WeakMap<ReadonlySet<string>, readonly string[]>();

const scopesOf = (may: ReadonlySet<string>): readonly string[] => {
  const known = scopeLists.get(may) ?? [...may];
  scopeLists.set(may, known);
  return known;
};

export const requestFor = (
  { settings }: AuthorizerParts,
  caller: Caller,
  { action, resource }: Pick<Asked, "action" | "resource">,
  granted: boolean,
): PolicyRequest => {
  const { mode, airGapped } = settings();
  return {
    principal: {
      id: principalName(caller.principal),
      scopes: scopesOf(caller.may),
      transport: caller.transport,
      agent: caller.agentId,
      session: caller.sessionId,
    },
    action,
    resource,
    context: { mode, profile: caller.budgetProfile ?? "", airGapped, granted },
  };
};

export const ticketOf = ({ state }: Origin): unknown => (isRecord(state) ? state[TICKET] : undefined);

/** Of a call that was suspended for a question: what was granted to it, and how this question was answered. */
const resume = ({ parts: { grants }, origin, call }: CallState): Resumed => {
  const { caller, answers } = origin;
  const kept = grants.resume(ticketOf(origin), caller.owner, call());
  if (kept === undefined) return { granted: new Set(), answered: undefined };
  const answer = readAnswer(answers);
  if (answer === "session" || answer === "never") grants.record(caller.owner, kept.asked, answer);
  const isYes = answer === "once" || answer === "session";
  return {
    granted: new Set([...kept.granted, ...(isYes ? [kept.asked] : [])]),
    answered: { key: kept.asked, answer },
  };
};

/** Whether the user's consent counts for this caller: over HTTP, only the operator's own token widens what it was given. */
export const countsConsent = ({ settings }: AuthorizerParts, { transport, may }: Caller): boolean =>
  settings().asksUsers && (transport !== "http" || may.has("admin"));

/** Ends this round of the call with a question, unless nobody can or wants to be asked. */
const ask = (
  { parts: { grants, settings }, origin: { caller, canAsk, canConsent }, call }: CallState,
  { key, question, allow }: Asked,
  granted: ReadonlySet<string>,
): void => {
  const { maxQuestionsPerMinute } = settings();
  const canAnswer = canConsent ?? canAsk?.("form") === true;
  if (!canAnswer || grants.isRefused(caller.owner, key)) return;
  const message = question();
  if (message === undefined || !grants.mayAsk(caller.owner, maxQuestionsPerMinute)) return;
  const ticket = grants.suspend({ owner: caller.owner, call: call(), granted: [...granted], asked: key });
  const form = { kind: "form", message, schema: SCHEMA, ...(allow && { allow }) } as const;
  throw new QuestionsAsked({ [ANSWER]: form }, { [TICKET]: ticket });
};

/** Returns if it is allowed; throws the refusal, or the question to the user. */
export const check = (state: CallState, asked: Asked): void => {
  const { parts, origin, onDecision } = state;
  const { policy, grants } = parts;
  const record = ({ allowed, policies }: PolicyDecision, answer?: Answer): void => {
    if (answer !== undefined) parts.onAnswer(answer);
    onDecision({
      allowed,
      policies,
      about: SUBJECTS[asked.resource.type] ?? "call",
      name: asked.action.name,
      effect: asked.action.group,
      resource: asked.resource.id,
      answer,
    });
  };
  const refuse = (decision: PolicyDecision, answer?: Answer): never => {
    record(decision, answer);
    const refusal = asked.refuse(decision);
    throw withHint(refusal, answer === undefined ? undefined : "The user was asked and did not agree");
  };
  const decision = policy.decide(requestFor(parts, origin.caller, asked, false));
  if (decision.allowed) {
    record(decision);
    return;
  }
  const agreed = policy.decide(requestFor(parts, origin.caller, asked, true));
  if (!agreed.allowed || !countsConsent(parts, origin.caller)) refuse(decision);
  state.resumed ??= resume(state);
  const { granted, answered } = state.resumed;
  const answer = answered?.key === asked.key ? answered.answer : undefined;
  if (granted.has(asked.key) || grants.has(origin.caller.owner, asked.key)) {
    record(agreed, answer);
    return;
  }
  if (answer === undefined) ask(state, asked, granted);
  refuse(decision, answer);
};
