import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { trustWorkspace } from "./app.ts";
import { type Server, ServerProcess, serveHere } from "./server.ts";

const repository = fileURLToPath(new URL("..", import.meta.url));

/** The program as clients start it. */
export const launcher = join(repository, "bin/llmc");

/** Nothing of the tester's environment reaches the program, except what it needs to start. */
export const cleanEnv = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: process.env["HOME"] ?? "",
  XDG_CONFIG_HOME: process.env["XDG_CONFIG_HOME"] ?? "",
  XDG_STATE_HOME: process.env["XDG_STATE_HOME"] ?? "",
  // LLMC_TEST_SUBPROCESS=true repeats any test with front and core as processes of their own.
  ...(process.env["LLMC_TEST_SUBPROCESS"] && {
    LLMC_MCP_SUBPROCESS: process.env["LLMC_TEST_SUBPROCESS"],
  }),
  ...(process.env["NODE_COMPILE_CACHE"] && { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }),
});

export interface ServeOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** False: the test does the handshake itself, or none. */
  readonly handshake?: boolean;
  /** False: the workspace's file is not trusted. */
  readonly trusted?: boolean;
}

export interface StartOptions extends ServeOptions {
  /** Instead of the launcher: the program and its first arguments. */
  readonly command?: readonly [string, ...string[]];
  /** Leave stderr unread, as some clients do. */
  readonly ignoreStderr?: boolean;
}

/** The text of a custom module: `body` may call `tool(name, run)` and use the kit. */
export const toolModule = (body: string): string => `
export const register = (kit) => {
  const tool = (name, run, input = kit.z.strictObject({})) =>
    kit.tool({ name, description: name, effect: "read", input, run, render: (out) => JSON.stringify(out ?? null) });
  ${body}
};
`;

/** Classic mode, with the modules of the workspace's folder `mods`. */
export const WITH_MODULES = ["--mode", "classic", "--set", "mcp.tools.custom_modules=mods"] as const;

/** A temporary folder and the servers started on it; both go when the test ends. */
export interface Workspace {
  readonly root: string;
  write(path: string, content: string | Uint8Array): Promise<void>;
  read(path: string): Promise<string>;
  /** What `llmc trust --yes` does. */
  trust(): Promise<void>;
  /** Serves in this process. */
  serve(options?: ServeOptions): Promise<Server>;
  /** Serves in a process of its own: for what is about the process, its streams, its memory and its end. */
  start(options?: StartOptions): Promise<ServerProcess>;
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const createWorkspace = async (
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<Workspace> => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "llmc-test-")));
  const servers: Server[] = [];
  const write: Workspace["write"] = async (path, content) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  for (const [path, content] of Object.entries(files)) await write(path, content);

  // A file that is wrong is the test's own affair.
  const trust = (): Promise<void> => trustWorkspace(root).catch(() => {});

  const remove = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(root, { recursive: true, force: true });
  };
  const argvOf = (args: readonly string[]): string[] => ["serve", "--stdio", "--root", root, ...args];
  const open = async <S extends Server>(
    { handshake = true, trusted = true }: ServeOptions,
    create: () => S,
  ): Promise<S> => {
    if (trusted) await trust();
    const server = create();
    servers.push(server);
    if (handshake) await server.handshake();
    return server;
  };
  return {
    root,
    write,
    read: (path) => readFile(join(root, path), "utf8"),
    trust,
    serve: (options = {}) =>
      open(options, () => serveHere(argvOf(options.args ?? []), { ...cleanEnv(), ...options.env })),
    start: (options = {}) =>
      open(options, () => {
        const { args = [], command: [program, ...first] = [launcher], env, ignoreStderr = false } = options;
        const child = spawn(program, [...first, ...argvOf(args)], {
          cwd: "/",
          env: { ...cleanEnv(), ...env },
        });
        return new ServerProcess(child, ignoreStderr);
      }),
    remove,
    [Symbol.asyncDispose]: remove,
  };
};
