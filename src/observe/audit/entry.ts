import type { ErrorCode } from "../../base/error-table.ts";
import type { Where } from "../subject.ts";

/** What policy said about a call, as whoever asked it reports it. */
export interface AuditDecision {
  readonly allowed: boolean;
  /** Ids of the policies that decided. */
  readonly policies: readonly string[];
}

/** Who did something. `principal` and `transport` are set by the door; the others are names that a client chose. */
interface Who {
  readonly correlation_id: string;
  readonly principal: string;
  readonly transport: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly model: string;
}

interface Action extends Who {
  /** The tool, or the endpoint or method that is not one. */
  readonly tool: string;
  /** `read`, `write`, `execute` or `egress`: of the tool, or of what it was about to do; empty where no tool was found. */
  readonly effect: string;
  /** The family that policy decides on the tool with: `admin` or `kb`. */
  readonly action_group?: string;
  /** Null where the call failed before policy was asked. */
  readonly decision: AuditDecision | null;
}

/** What is decided on while a tool runs. */
type About = "program" | "path" | "host" | "collection" | "flow" | "files";

interface Decided {
  /** The action of policy, where it is not the tool itself. */
  readonly action?: string;
  readonly program?: string;
  readonly host?: string;
  readonly collection?: string;
  readonly flow?: string;
  /** Of a path, and of a program whose name is not a plain one. */
  readonly resource_digest?: string;
}

type Outcome = "ok" | "questions" | ErrorCode;

/** Written before a call that changes something begins: without it, nothing is changed. */
type DecisionEntry = Action &
  Where & {
    readonly kind: "decision";
    /** Left out where it is about the call as a whole. */
    readonly about?: About;
  } & Decided;

/** Written when a call has ended, before its answer leaves. */
type CallEntry = Action &
  Where & {
    readonly kind: "call";
    readonly route: string;
    readonly bytes_in: number;
    /** Null where the output was not counted. */
    readonly bytes_out: number | null;
    readonly duration_ms: number;
    readonly outcome: Outcome;
    /** Of a command that `te` ran. */
    readonly exit_code?: number;
    readonly budget_profile?: string;
    readonly trace_id?: string;
  };

/** A request that was refused before it became a call: a wrong token, a rate. */
interface RefusalEntry {
  readonly kind: "refusal";
  readonly reason: string;
  readonly transport: string;
  readonly correlation_id?: string;
  readonly address?: string;
  readonly token_name?: string;
  /** How many requests this record stands for. */
  readonly count: number;
}

/** The user was asked whether a call may do what policy leaves to them. */
type QuestionEntry = Action &
  Where & {
    readonly kind: "question";
    readonly about: About | "call";
    readonly answer: "once" | "session" | "never" | "declined" | "unanswered";
  } & Decided;

/** The operator has allowed something for good, or no longer allows it. */
type GrantEntry = Who & {
  readonly kind: "grant";
  /** The option of the configuration, and what was added to it: `command_powers git:write`. */
  readonly granted: string;
  readonly scope: "always" | "revoked";
};

/** A model was asked, successfully or not. */
type ModelCallEntry = Who & {
  readonly kind: "model_call";
  readonly tool: string;
  readonly provider: string;
  readonly asked_model: string;
  /** Whether the text could leave: what the egress policy said. */
  readonly decision: AuditDecision;
  /** Null where the provider did not say. */
  readonly tokens_in: number | null;
  readonly tokens_out: number | null;
  readonly cost_usd?: number;
  readonly duration_ms: number;
  readonly outcome: Outcome;
};

/** An analysis has ended: what it was about and what it cost, as far as that is known. */
type AnalysisEntry = Who & {
  readonly kind: "analysis";
  readonly tool: string;
  readonly asked_model: string;
  readonly bytes_read: number | null;
  readonly cost_usd: number;
  readonly calls: number;
  readonly turns: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly duration_ms: number;
  readonly outcome: Outcome;
};

/**
 * What the audit trail records: names, sizes, codes and digests. No content, no values of arguments, no keys. A new kind
 * of event is one more member here; chains, files and commands know nothing of kinds.
 */
export type AuditEntry =
  | DecisionEntry
  | CallEntry
  | RefusalEntry
  | QuestionEntry
  | GrantEntry
  | ModelCallEntry
  | AnalysisEntry;

/** The audit trail as callers see it. */
export interface AuditTrail {
  /** Loads and opens it; undefined once that is done, so that a call need not wait for anything. */
  ready(): Promise<void> | undefined;
  /** Returns when the record is written; throws `audit_unavailable` where it cannot be, and must be. */
  record(entry: AuditEntry): void;
  /** The same for a call that only reads: its record may be made and written shortly after its answer. */
  recordRead(make: () => AuditEntry): void;
  /** Records that could not be written since the last one that was. */
  missed(): number;
  /** Tries again if there are such records; throws `audit_unavailable` if it still cannot be written. */
  check(): void;
}
