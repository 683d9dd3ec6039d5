import type { MODES } from "../core/options.ts";
import type { KbCommand } from "./kb-actions.ts";

/** Flags that every command accepts. */
export interface CommonOptions {
  readonly root?: string;
  readonly config?: string;
  readonly mode?: (typeof MODES)[number];
  readonly set: readonly string[];
}

export interface ServeOptions extends CommonOptions {
  readonly stdio?: true;
  readonly http?: true;
  readonly host?: string;
  readonly port?: string;
  readonly generateToken?: true;
}

export interface InitFlags extends CommonOptions {
  /** Kinds of project whose programs are allowed; left out: those that fit are offered. */
  readonly preset?: readonly string[];
  /** Every key instead of the usual ones. */
  readonly all?: true;
  readonly print?: true;
}

export interface ConnectFlags extends CommonOptions {
  readonly scope?: "project" | "user";
  readonly name?: string;
  readonly remove?: true;
  readonly print?: true;
  readonly yes?: true;
}

export interface AllowFlags extends CommonOptions {
  /** The git directory of the workspace's work tree, where it lies elsewhere. */
  readonly repository?: true;
  /** For all workspaces of the user. */
  readonly user?: true;
  readonly yes?: true;
  readonly print?: true;
}

export interface QuarantineFlags extends CommonOptions {
  readonly remove?: true;
  readonly yes?: true;
  readonly json?: true;
}

export interface TrustFlags extends CommonOptions {
  readonly yes?: true;
  readonly revoke?: true;
  readonly list?: true;
  readonly json?: true;
}

export interface UsageFlags extends CommonOptions {
  readonly json?: true;
  readonly days?: string;
  readonly session?: string;
}

export interface CallFlags extends CommonOptions {
  /** The arguments of the tool. */
  readonly args?: string;
  /** True: print JSON. A text is an earlier spelling of `args`. */
  readonly json?: true | string;
  readonly structured?: true;
  readonly agent?: string;
  readonly session?: string;
  readonly model?: string;
}

export interface SearchFlags extends CommonOptions {
  readonly file?: string;
  readonly json?: true;
  readonly scope?: string;
  readonly k?: string;
  readonly budget?: string;
  readonly path?: string;
  readonly language?: string;
  readonly kind?: string;
}

export interface RlmFlags extends CommonOptions {
  readonly file?: string;
  readonly context?: string;
  readonly budgetUsd?: string;
  readonly maxTurns?: string;
  readonly timeout?: string;
  readonly maxBytes?: string;
  readonly model?: string;
  readonly language?: string;
  readonly estimate?: true;
  readonly trace?: string;
  readonly traceContent?: true;
  readonly record?: string;
  readonly replay?: string;
  readonly strict?: true;
  readonly json?: true;
}

export interface KbFlags extends CommonOptions {
  readonly json?: true;
}

export interface AuditFlags extends CommonOptions {
  readonly json?: true;
  readonly since?: string;
  readonly until?: string;
  readonly principal?: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly limit?: string;
  readonly format?: "jsonl" | "csv";
}

export interface ExplainPolicyFlags extends CommonOptions {
  readonly program?: string;
  readonly power: readonly string[];
  readonly path?: string;
  readonly host?: string;
  readonly collection?: string;
  readonly flow?: string;
  readonly principal?: string;
  readonly scopes?: string;
  readonly agent?: string;
  readonly granted?: true;
  readonly json?: true;
}

/** What the commands do; the wiring provides it. */
export interface Actions {
  serve(options: ServeOptions): Promise<void>;
  init(options: InitFlags): Promise<void>;
  allow(programs: readonly string[], options: AllowFlags): Promise<void>;
  trust(options: TrustFlags): Promise<void>;
  validateRepo(options: CommonOptions & { readonly json?: true }): Promise<void>;
  showConfig(options: CommonOptions & { readonly origin?: true; readonly json?: true }): Promise<void>;
  validateConfig(options: CommonOptions & { readonly json?: true }): Promise<void>;
  explainConfig(key: string, options: CommonOptions & { readonly json?: true }): Promise<void>;
  checkPolicies(files: readonly string[], options: CommonOptions & { readonly json?: true }): Promise<void>;
  explainPolicy(tool: string, options: ExplainPolicyFlags): Promise<void>;
  testPolicies(file: string, options: CommonOptions & { readonly json?: true }): Promise<void>;
  /** Prints the script of a shell, or, given what was typed after the program's name, what may come next. */
  completion(shell: string, typed: readonly string[]): Promise<void>;
  token(options: CommonOptions): Promise<void>;
  doctor(
    options: CommonOptions & { readonly json?: true; readonly attack?: true; readonly sandbox?: true },
  ): Promise<void>;
  tools(options: CommonOptions & { readonly json?: true }): Promise<void>;
  quarantine(options: QuarantineFlags): Promise<void>;
  locks(options: CommonOptions & { readonly json?: true }): Promise<void>;
  usage(options: UsageFlags): Promise<void>;
  verifyAudit(options: CommonOptions & { readonly json?: true }): Promise<void>;
  showAudit(options: AuditFlags): Promise<void>;
  exportAudit(options: AuditFlags): Promise<void>;
  call(tool: string, options: CallFlags): Promise<void>;
  connect(client: string, options: ConnectFlags): Promise<void>;
  index(options: CommonOptions & { readonly force?: true; readonly json?: true }): Promise<void>;
  search(query: string | undefined, options: SearchFlags): Promise<void>;
  queryRlm(task: string, options: RlmFlags): Promise<void>;
  viewTrace(
    trace: string,
    options: { readonly content?: true; readonly out?: string; readonly print?: true },
  ): Promise<void>;
  whereUsed(
    symbol: string,
    options: CommonOptions & { readonly limit?: string; readonly json?: true },
  ): Promise<void>;
  kb(command: KbCommand, options: KbFlags): Promise<void>;
  inspect(target: string, options: CommonOptions & { readonly json?: true }): Promise<void>;
}
