import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { type Client, findClient, type Machine, pathsOf, type Scope } from "./clients.ts";

export const DEFAULT_SERVER_NAME = "llmc";

/** What a client needs to start a server over stdio, in the order in which it is written. */
export interface ServerEntry {
  readonly type?: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The location of an entry, which is all that is needed to remove it. */
export interface TargetRequest extends Machine {
  readonly client: string;
  /** The client's own default when absent. */
  readonly scope?: Scope;
  /** Absolute. */
  readonly workspace: string;
  readonly name?: string;
}

export interface ConnectionRequest extends TargetRequest {
  /** Absolute path of bin/llmc: clients started from a desktop do not have the shell's PATH. */
  readonly command: string;
  /** Added unchanged after `serve --stdio --root WORKSPACE`. */
  readonly extraArgs?: readonly string[];
  /** The server's environment, as the entry's `env`. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Target {
  readonly client: Client;
  readonly scope: Scope;
  readonly file: string;
  /** The key that holds the servers, and the server's name in it. */
  readonly path: readonly [string, string];
}

const refuse = (message: string, hint?: string): never => {
  throw new LlmcError("invalid_args", message, hint === undefined ? {} : { hint });
};

const checkName = (name: string): string =>
  // Accepted by every client, and never the name of an inherited property (`__proto__`).
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)
    ? name
    : refuse(
        `The server name ${quoteForMessage(name)} is not allowed.`,
        "Use up to 64 letters, digits, - and _, the first one a letter or digit.",
      );

const checkPath = (what: string, path: string, { platform }: Machine, client: Client): string => {
  if (!pathsOf(platform).isAbsolute(path)) refuse(`The ${what} must be an absolute path.`);
  if (client.expandsVariables && path.includes("${"))
    refuse(`The ${what} has "\${" in its path, which ${client.name} would replace.`, "Rename the folder.");
  return path;
};

export const locateTarget = (request: TargetRequest): Target => {
  const client = findClient(request.client);
  const scope = request.scope ?? client.scopes[0];
  const path = [client.serversKey, checkName(request.name ?? DEFAULT_SERVER_NAME)] as const;
  if (scope === "user" && client.scopes.includes("user"))
    return { client, scope, path, file: client.userFile(request) };
  if (scope === "project" && client.projectFile !== undefined) {
    const paths = pathsOf(request.platform);
    if (!paths.isAbsolute(request.workspace)) refuse("The workspace must be an absolute path.");
    return { client, scope, path, file: paths.join(request.workspace, ...client.projectFile) };
  }
  return refuse(`${client.name} has no ${scope} scope.`, `Use the ${client.scopes.join(" or ")} scope.`);
};

export const buildEntry = (request: ConnectionRequest): ServerEntry => {
  const { client, scope } = locateTarget(request);
  const command = checkPath("command", request.command, request, client);
  const variable = scope === "project" ? client.workspaceVariable : undefined;
  const root = variable ?? checkPath("workspace", request.workspace, request, client);
  const hasEnv = client.alwaysHasEnv || Object.keys(request.env ?? {}).length > 0;
  return {
    ...(client.hasType ? { type: "stdio" } : {}),
    command,
    args: ["serve", "--stdio", "--root", root, ...(request.extraArgs ?? [])],
    ...(hasEnv ? { env: { ...request.env } } : {}),
  };
};
