import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { type Client, findClient, type Launch, type Machine, pathsOf, type Scope } from "./clients.ts";

export const DEFAULT_SERVER_NAME = "llmc";

/** Where an entry lives: enough to remove it. */
export interface TargetRequest extends Machine {
  readonly client: string;
  /** The client's own default when absent. */
  readonly scope?: Scope;
  /** Absolute. */
  readonly workspace: string;
  readonly name?: string;
}

/** How this program is started, without the arguments of `serve`. */
export interface ProgramLaunch {
  /** For clients that have the shell's PATH. */
  readonly withPath: Launch;
  /** For all others: nothing of it is looked up in the PATH. */
  readonly withoutPath: Launch;
  /** The folder of this program. */
  readonly folder: string;
}

export interface ConnectionRequest extends TargetRequest {
  readonly program: ProgramLaunch;
  /** The operator named the workspace, instead of just being in it. */
  readonly isWorkspaceNamed?: boolean;
  /** Added unchanged after `serve --stdio`. */
  readonly extraArgs?: readonly string[];
}

export interface Target {
  readonly client: Client;
  readonly scope: Scope;
  /** The one that exists is used; the first where none does. */
  readonly files: readonly [string, ...string[]];
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

/** A path that the client passes on as it is. */
const checkPath = (what: string, path: string, client: Client): string => {
  if (client.expandsVariables && path.includes("${"))
    refuse(`The ${what} has "\${" in its path, which ${client.name} would replace.`, "Rename the folder.");
  return path;
};

export const locateTarget = (request: TargetRequest): Target => {
  const client = findClient(request.client);
  const scope = request.scope ?? client.scopes[0];
  const path = [client.serversKey, checkName(request.name ?? DEFAULT_SERVER_NAME)] as const;
  if (scope === "user" && client.scopes.includes("user"))
    return { client, scope, path, files: client.userFiles(request) };
  if (scope === "project" && client.projectFiles !== undefined) {
    const paths = pathsOf(request.platform);
    if (!paths.isAbsolute(request.workspace)) refuse("The workspace must be an absolute path.");
    const [first, ...others] = client.projectFiles;
    const inWorkspace = (file: string): string => paths.join(request.workspace, ...file.split("/"));
    return { client, scope, path, files: [inWorkspace(first), ...others.map(inWorkspace)] };
  }
  return refuse(`${client.name} has no ${scope} scope.`, `Use the ${client.scopes.join(" or ")} scope.`);
};

/** The workspace as an entry names it; undefined where the client starts servers in it anyway. */
const rootOf = (request: ConnectionRequest, { client, scope }: Target): string | undefined => {
  if (client.startsInProject && (scope === "project" || !request.isWorkspaceNamed)) return undefined;
  const variable = scope === "project" ? client.workspaceVariable : undefined;
  if (variable !== undefined) return variable;
  if (!pathsOf(request.platform).isAbsolute(request.workspace))
    refuse("The workspace must be an absolute path.");
  return checkPath("workspace", request.workspace, client);
};

/** Whoever tries this program right after cloning it wants it for a project of their own. */
const refuseOwnFolder = ({ program, workspace, isWorkspaceNamed, platform }: ConnectionRequest): void => {
  const inside = pathsOf(platform).relative(program.folder, workspace);
  const isOwn = inside === "" || !(inside.startsWith("..") || pathsOf(platform).isAbsolute(inside));
  if (isOwn && !isWorkspaceNamed)
    refuse(
      "This is llmc's own folder, which agents would be connected to.",
      "Run the command in your project's folder, or name the folder with --root.",
    );
};

/** The client's entry for this program. */
export const buildEntry = (request: ConnectionRequest): object => {
  const target = locateTarget(request);
  const { client, scope } = target;
  const root = rootOf(request, target);
  if (scope === "project" || root !== undefined) refuseOwnFolder(request);
  const launch = client.hasShellPath ? request.program.withPath : request.program.withoutPath;
  return client.entry({
    command: checkPath("command", launch.command, client),
    args: [
      ...launch.args,
      "serve",
      "--stdio",
      ...(root === undefined ? [] : ["--root", root]),
      ...(request.extraArgs ?? []),
    ],
    env: launch.env,
  });
};
