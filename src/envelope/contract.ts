import type { PermitFiles, PermitProgram } from "../policy/permit.ts";

/** Who runs a command. Never guessed: missing values come from the configuration. */
export interface Session {
  readonly agentId: string;
  /** A label for telemetry; the caller may have chosen it. */
  readonly sessionId: string;
  readonly model: string;
  /** Recorded, and looked up in `mcp.te.budget_profiles`. */
  readonly budgetProfile?: string;
  /** Whose handles the output is kept behind. */
  readonly principal: string;
  /** Whose budget it counts against; empty if there is no budget. */
  readonly owner: string;
  /** The caller's scopes; a redirection needs more than the one that runs commands. */
  readonly may: ReadonlySet<string>;
  /** What policy and the user say to a program. */
  readonly permit?: PermitProgram | undefined;
  /** The same to files that a command line reads or writes by itself. */
  readonly permitFiles?: PermitFiles | undefined;
}

/** The document of `te --json`; other programs parse it, so its shape does not change. */
export interface EnvelopeDocument {
  readonly success: boolean;
  readonly mode: "enriched" | "passthrough" | "raw";
  readonly command: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number;
  readonly enrichment: {
    readonly match_count: number | null;
    readonly truncated: boolean;
    readonly handle: string | null;
    /** Estimated tokens of the shown output. */
    readonly tokens_estimate: number;
  };
  readonly telemetry: {
    readonly latency_ms: number;
    readonly agent_id: string;
    /** Null if the configuration sets no limit. */
    readonly budget_remaining: number | null;
  };
}
