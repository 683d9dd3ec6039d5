import { LlmcError, toLlmcError } from "../base/error.ts";
import type { AuditDecision, AuditEntry, AuditTrail } from "../observe/audit/entry.ts";
import type { Observer } from "../observe/observer.ts";
import type { CallTexts } from "../observe/records.ts";
import { type Subject, type Where, whereOf } from "../observe/subject.ts";
import type { Origin } from "./origin.ts";

/** What is opened: its name, if that is known already, and what came in, which is measured and never kept. */
interface Opened {
  readonly tool: string;
  readonly input: (digest: (text: string) => string) => string;
}

/**
 * What policy said, and about what: the call as a whole, a program, a path outside the roots, a host, a
 * knowledge base, a flow, or files that a command line uses by itself.
 */
export interface Decided extends AuditDecision {
  readonly about: "call" | "program" | "path" | "host" | "collection" | "flow" | "files";
  /** The name of the tool, or of an HTTP endpoint that is not a tool. */
  readonly tool: string;
  /** Of what is decided on while it runs: the action of policy. */
  readonly action?: string;
  /** What the action does. */
  readonly effect: string;
  /** The family that the tool is decided on with. */
  readonly group?: string;
  /** Its record may wait for its answer; where it cannot be written, the operator decides whether it goes on. */
  readonly isReadOnly: boolean;
  /** The program, path or host. */
  readonly resource?: string;
}

/** What is not recorded by itself where it is allowed and changes nothing: the record of the call is enough. */
const QUIET: ReadonlySet<Decided["about"]> = new Set(["files", "collection"]);

/** How the user answered a question; unanswered: the client was asked, and failed or kept silent. */
export interface Answered extends Decided {
  readonly answer: "once" | "session" | "never" | "declined" | "unanswered";
}

export interface Measured {
  readonly truncated: boolean;
  readonly output: () => string;
  readonly subject?: () => Subject | undefined;
}

/** What is recorded of one piece of work: its decision, and once it has ended, its outcome. */
export interface CallLog {
  /** To be waited for before the first decision: the audit trail is loaded when it is first needed. */
  ready(): Promise<void> | undefined;
  /** What came in, as it is measured. */
  readonly input: () => string;
  /** Names the tool once it is known. */
  name(tool: string): void;
  /** Notes what policy said. Work that changes something is recorded here, and not begun where that fails. */
  readonly decide: (decided: Decided) => void;
  /** Records what the user answered. */
  readonly answered: (answered: Answered) => void;
  /**
   * Records the outcome, once. Throws `audit_unavailable` where it cannot be recorded and must be, unless the work has
   * changed something: then the caller has to learn what was done, and the next change is refused.
   */
  close(failure: LlmcError | "questions" | undefined, measured: Measured): void;
}

export interface LogParts {
  readonly observer: Observer;
  readonly audit: AuditTrail;
  /** Short, and reveals nothing. */
  readonly digest: (text: string) => string;
  /** Milliseconds that only move forward. */
  readonly now: () => number;
}

/** Who did something, as all records say it. */
export const whoOf = ({ caller, correlationId }: Pick<Origin, "caller" | "correlationId">) => ({
  correlation_id: correlationId,
  principal: caller.principal,
  transport: caller.transport,
  agent_id: caller.agentId,
  session_id: caller.sessionId,
  model: caller.model,
});

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};

/** Microseconds are all that a record can tell. */
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;

interface Ended {
  readonly truncated: boolean;
  readonly texts: CallTexts;
  readonly tool: string;
  /** The decision on the call as a whole; undefined where it failed before. */
  readonly decided: Decided | undefined;
  readonly failure: LlmcError | "questions" | undefined;
  readonly durationMs: number;
  readonly traceId: string | undefined;
  readonly where: () => Where;
}

/** Other names may hold anything. Those of programs that policy decides on are files on this machine. */
const PLAIN_NAME = /^[\w.+-]{1,64}$/;

/** What every record of a decision says. */
const decisionFields = (origin: Origin, decided: Decided, digest: (text: string) => string) => {
  const { about, tool, action, effect, group, resource, allowed, policies } = decided;
  const isShown =
    about === "host" ||
    about === "collection" ||
    about === "flow" ||
    (about === "program" && PLAIN_NAME.test(resource ?? ""));
  return {
    ...whoOf(origin),
    tool,
    ...(action === undefined ? {} : { action }),
    effect,
    ...(group === undefined ? {} : { action_group: group }),
    decision: { allowed, policies },
    ...(resource === undefined
      ? {}
      : isShown
        ? { [about]: resource }
        : { resource_digest: digest(resource) }),
  };
};

const callEntry = (origin: Origin, ended: Ended): AuditEntry => {
  const { failure, texts, traceId, decided } = ended;
  const { budgetProfile = "" } = origin.caller;
  return {
    kind: "call",
    ...whoOf(origin),
    route: origin.route ?? origin.caller.transport,
    tool: ended.tool,
    effect: decided?.effect ?? "",
    ...(decided?.group === undefined ? {} : { action_group: decided.group }),
    decision: decided === undefined ? null : { allowed: decided.allowed, policies: decided.policies },
    ...ended.where(),
    bytes_in: Buffer.byteLength(texts.input()),
    bytes_out: Buffer.byteLength(texts.output()),
    duration_ms: rounded(ended.durationMs),
    outcome: failure instanceof LlmcError ? failure.code : (failure ?? "ok"),
    ...(budgetProfile === "" ? {} : { budget_profile: budgetProfile }),
    ...(traceId === undefined ? {} : { trace_id: traceId }),
  };
};

const observe = (observer: Observer, origin: Origin, ended: Ended): void => {
  const { failure, texts, tool, where, durationMs, truncated, traceId } = ended;
  const error = failure instanceof LlmcError ? failure : undefined;
  observer.recordCall(
    {
      tool,
      correlationId: origin.correlationId,
      agentId: origin.caller.agentId,
      sessionId: origin.caller.sessionId,
      model: origin.caller.model,
      budgetProfile: origin.caller.budgetProfile ?? "",
      route: origin.route ?? origin.caller.transport,
      where,
      transport: origin.caller.transport,
      durationMs,
      truncated,
      isQuestion: failure === "questions",
      errorCode: error?.code,
      traceId,
      cause: error?.cause,
    },
    texts,
  );
};

/** Opens the record of one piece of work. */
export const createCallLogs =
  ({ observer, audit, digest, now }: LogParts) =>
  (origin: Origin, opened: Opened): CallLog => {
    const startedAt = now();
    const trace = observer.startCall(origin.traceparent);
    const input = once(() => opened.input(digest));
    let { tool } = opened;
    let own: Decided | undefined;
    let decisions: Set<string> | undefined;
    let hasBegun = false;
    let isClosed = false;

    const record = (ended: Ended): void => {
      try {
        if (ended.decided?.isReadOnly === true) audit.recordRead(() => callEntry(origin, ended));
        else audit.record(callEntry(origin, ended));
      } catch (error) {
        if (!hasBegun) throw toLlmcError(error);
      }
    };

    /** A command line is judged as a whole first, and each program again when its turn comes. */
    const isRepeated = ({ about, action, allowed, resource }: Decided): boolean => {
      decisions ??= new Set();
      const before = decisions.size;
      return decisions.add(`${about} ${action} ${allowed} ${resource}`).size === before;
    };

    /** Of a call, the arguments say what it was about. */
    const fieldsOf = (decided: Decided) => ({
      ...decisionFields(origin, decided, digest),
      ...(decided.about === "call" ? { args_digest: digest(input()) } : {}),
    });

    return {
      ready: audit.ready,
      input,
      name: (found) => {
        tool = found;
      },
      decide: (decided) => {
        const { about, allowed, isReadOnly } = decided;
        if (about === "call") {
          ({ tool } = decided);
          own = decided;
          // The call's own record says it all.
          if (!allowed || isReadOnly) return;
        } else if ((QUIET.has(about) && allowed && isReadOnly) || isRepeated(decided)) return;
        audit.record({ kind: "decision", ...fieldsOf(decided), ...(about === "call" ? {} : { about }) });
        hasBegun ||= about === "call";
      },
      answered: (answered) =>
        audit.record({
          kind: "question",
          ...fieldsOf(answered),
          about: answered.about,
          answer: answered.answer,
        }),
      close: (failure, { truncated, output, subject }) => {
        if (isClosed) return;
        isClosed = true;
        trace.end(tool, failure instanceof LlmcError ? failure.code : undefined);
        const ended: Ended = {
          tool,
          decided: own,
          failure,
          truncated,
          texts: { input, output: once(output) },
          durationMs: now() - startedAt,
          traceId: trace.traceId,
          where: once(() => whereOf(subject?.(), digest)),
        };
        observe(observer, origin, ended);
        record(ended);
      },
    };
  };
