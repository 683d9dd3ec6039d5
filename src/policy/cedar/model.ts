/**
 * What policies see. These tables are the one definition of it: the schema, the types, what Cedar is handed and what
 * `llmc policy test` accepts are derived from them. The values are what a test case means where it leaves one out.
 */

const NO_NAMES: readonly string[] = [];

export const PRINCIPAL = { scopes: NO_NAMES, transport: "stdio" };

/** Labels that clients choose, and the entities that policies see them as: nothing is permitted because of them by default. */
export const LABELS = { agent: "Agent", session: "Session" } as const;

export const CONTEXT = {
  mode: "hybrid",
  profile: "",
  air_gapped: false,
  /** The user was asked about this very thing, and agreed. */
  granted: false,
};

export const RESOURCES = {
  /** What most tools work on as a whole; which files they reach in it is decided by the path rules. */
  Workspace: {},
  /** The server itself: status, metrics. */
  Server: {},
  /** A path outside the roots that is to be read. */
  File: {},
  /** A program, by the name it is started under; `missing_powers` are those that the operator has not granted. */
  Command: { allowlisted: true, missing_powers: NO_NAMES },
  /** Where text is sent to; `listed` if the configuration lets it go there, `local` if it is on this machine. */
  Host: { listed: true, local: false },
  /** A knowledge base, by its name. */
  Collection: {},
  /** A declared flow, by its id. */
  Flow: {},
};

/** The four effects of tools, the families that are decided on apart, and the metrics. */
export const ACTION_GROUPS = ["read", "write", "execute", "egress", "admin", "kb", "metrics"] as const;
export type ActionGroup = (typeof ACTION_GROUPS)[number];

export type ResourceType = keyof typeof RESOURCES;

/** What is done: a tool, an endpoint, or what is decided on while one of them runs. */
export interface PolicyAction {
  readonly name: string;
  /** The effect, and the family where there is one: a policy about either decides. */
  readonly groups: readonly ActionGroup[];
  /** What it is decided on with; no request has another pair. */
  readonly about: readonly ResourceType[];
}

export type PolicyPrincipal = Readonly<typeof PRINCIPAL> & {
  /** The token's name over HTTP, otherwise `local`. */
  readonly id: string;
} & { readonly [Label in keyof typeof LABELS]: string };

export type PolicyContext = Readonly<typeof CONTEXT>;

export type PolicyResource = {
  [Type in ResourceType]: { readonly type: Type; readonly id: string } & Readonly<(typeof RESOURCES)[Type]>;
}[ResourceType];

/** Every field is a fact that the server established itself, except the labels. */
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
  /** Why it could not be decided, which denies. */
  readonly failure?: string;
}
