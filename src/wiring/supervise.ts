import { join } from "node:path";
import type { ServeOptions } from "../cli/actions.ts";
import { makeSocketFolder, removeSocketFolder } from "../host/net/socket-folder.ts";
import { startProgram } from "../host/os/child-program.ts";
import { newId, newKey } from "../host/os/lazy-builtins.ts";
import { descriptorLimit, hasGrown } from "../host/os/process-bounds.ts";
import { claimStdout } from "../host/os/stdio.ts";
import { Supervisor } from "../link/supervisor.ts";
import type { Start } from "./request.ts";

/** Of V8, for a process that only relays, and for one that parses: both stay small. */
const FRONT_FLAGS = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=1",
  "--max-old-space-size=64",
];
const CORE_FLAGS = ["--disable-warning=ExperimentalWarning", "--min-semi-space-size=4"];

/** Connections to the core that are kept for the next request, as the design documents have it. */
const POOL_SIZE = 10;
/**
 * Requests to the core at once: somewhat more than it works on by default, so that its own queue decides, but no more than
 * a quarter of its descriptors.
 */
const MAX_REQUESTS = 128;
const MIN_REQUESTS = 4;

/** The other programs lie beside this one's folder, compiled or not as it is. */
const programFile = (name: string): string =>
  join(import.meta.dirname, "..", `${name}${import.meta.filename.endsWith(".ts") ? ".ts" : ".js"}`);

/** What concerns the supervisor alone. */
const withoutOwn = ({ LLMC_PROTOCOL_FD: _fd, ...env }: Start["env"]): Start["env"] => env;

/** Whether front and core run as processes of their own (`mcp.subprocess`). */
const isSplit = async (start: Start, options: ServeOptions): Promise<boolean> => {
  const [{ loadFor }, { requestOf }] = await Promise.all([import("./load.ts"), import("./request.ts")]);
  const { config } = await loadFor(await requestOf(start, options), false);
  return config.mcp.subprocess;
};

/** Everything in this process, which `mcp.subprocess = false` asks for. */
const serveHere = async (start: Start, options: ServeOptions): Promise<number> => {
  const [{ serveStdio }, { requestOf }] = await Promise.all([import("./serve.ts"), import("./request.ts")]);
  await serveStdio(await requestOf(start, options, true), start.signals);
  return 0;
};

/** Serves a client over stdio with a front and a core of their own, until it leaves or the server is told to stop. */
export const supervise = async (
  start: Start,
  argv: readonly string[],
  options: ServeOptions,
): Promise<number> => {
  if (!(await isSplit(start, options))) return serveHere(start, options);
  const { LLMC_PROTOCOL_FD: fd } = start.env;
  const streams = claimStdout(fd === undefined ? undefined : Number(fd));
  const folder = makeSocketFolder(start.env["XDG_RUNTIME_DIR"]);
  const socketPath = join(folder, "link.sock");
  const token = Buffer.from(newKey()).toString("base64url");
  const env = withoutOwn(start.env);
  const supervisor = new Supervisor({
    ...streams,
    startFront: async () =>
      startProgram({
        program: programFile("front"),
        flags: FRONT_FLAGS,
        env,
        cwd: "/",
        outputFd: 1,
        stderr: "inherit",
      }),
    startCore: () =>
      startProgram({
        program: programFile("serve-core"),
        flags: CORE_FLAGS,
        env,
        cwd: start.cwd,
        outputFd: 3,
        stderr: "inherit",
      }),
    hello: {
      session: newId(),
      socketPath,
      token,
      poolSize: POOL_SIZE,
      maxRequests: Math.max(MIN_REQUESTS, Math.min(MAX_REQUESTS, Math.floor(descriptorLimit() / 4))),
      stateKey: Buffer.from(newKey()).toString("base64"),
    },
    coreHello: { argv, folder, socketPath, token },
    cached: undefined,
    hasGrown: (pid) => hasGrown(pid, { maxResidentMb: 400, maxDescriptors: 512 }),
    log: (text) => start.stderr.write(`llmc: ${text}\n`),
  });
  start.signals.onStop(() => supervisor.stop());
  start.signals.onReload(() => supervisor.reload());
  try {
    supervisor.start();
    return await supervisor.done;
  } finally {
    removeSocketFolder(folder);
  }
};
