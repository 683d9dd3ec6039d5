/**
 * What a decision is made about. Every field is a fact that the server established itself, except the two labels of the
 * principal, which clients choose: nothing is permitted because of them by default.
 */
export interface PolicyPrincipal {
  /** The token's name over HTTP, otherwise `local`. */
  readonly id: string;
  readonly scopes: readonly string[];
  readonly transport: string;
  /** Labels that the client chose: policies see them as `principal in Agent::"…"` and `principal in Session::"…"`. */
  readonly agent: string;
  readonly session: string;
}

/** What is done: a tool, or one of the actions that ports decide on while a tool runs. */
export interface PolicyAction {
  readonly name: string;
  readonly group: ActionGroup;
}

/** The four effects of tools, two families that are decided on apart, and the metrics. */
export const ACTION_GROUPS = ["read", "write", "execute", "egress", "flow", "admin", "metrics"] as const;
export type ActionGroup = (typeof ACTION_GROUPS)[number];

export type PolicyResource =
  /** What most tools work on as a whole; which files they reach is decided by the path rules. */
  | { readonly type: "Workspace"; readonly id: string }
  /** The server itself: status, metrics. */
  | { readonly type: "Server"; readonly id: string }
  /** A path as the path rules judged it. */
  | {
      readonly type: "File";
      readonly id: string;
      readonly inRoot: boolean;
      readonly denied: boolean;
      readonly isProtected: boolean;
    }
  /** A program, by the name it is started under. */
  | {
      readonly type: "Command";
      readonly id: string;
      readonly allowlisted: boolean;
      /** Powers that its arguments need and that the operator has not granted. */
      readonly missingPowers: readonly string[];
    }
  | { readonly type: "Collection"; readonly id: string }
  | { readonly type: "Flow"; readonly id: string }
  | { readonly type: "Host"; readonly id: string; readonly listed: boolean };

export interface PolicyContext {
  readonly mode: string;
  readonly profile: string;
  readonly airGapped: boolean;
  /** The user was asked about this very thing, and agreed. */
  readonly granted: boolean;
}

export interface PolicyRequest {
  readonly principal: PolicyPrincipal;
  readonly action: PolicyAction;
  readonly resource: PolicyResource;
  readonly context: PolicyContext;
}

export interface PolicyDecision {
  readonly allowed: boolean;
  /** The policies that decided; none where nothing permits. */
  readonly policies: readonly string[];
  /** Where the files have an error, if that is why everything is denied: `my.cedar:2:5`. */
  readonly brokenAt?: string;
}
