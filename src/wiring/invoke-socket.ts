import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { INVOKE_SOCKET } from "../host/air-gap/opened-outside.ts";
import { realOrFuture } from "../host/own-files/real-or-future.ts";
import { insideRoots } from "../policy/paths.ts";
import { openedOutside } from "./air-gap.ts";
import type { App, AppRequest } from "./app.ts";

/**
 * Where the name leads, as other paths are judged: what a command or a clone brings must not lie where programs of the user
 * look for the token.
 */
const pathOf = (app: App): string | undefined => {
  const { server, tools } = app.config.current().config.mcp;
  const { invoke_socket: path } = server;
  if (path === "") return undefined;
  const roots = [app.root, ...tools.allowed_roots.map((root) => resolve(app.root, root))];
  const real = join(realOrFuture(dirname(path)), basename(path));
  if (!isAbsolute(path) || insideRoots(real, roots.map(realOrFuture)))
    throw new LlmcError("config_invalid", "mcp.server.invoke_socket must be a path outside the workspace.", {
      hint: "For example ~/.local/state/llmc/invoke.sock.",
    });
  return real;
};

/** The socket for other programs of the user, where the configuration names one. Returns how to close it. */
export const openInvokeSocket = async (app: App, env: AppRequest["env"]): Promise<() => void> => {
  const named = pathOf(app);
  if (named === undefined) return () => {};
  const outside = openedOutside(env);
  // In an air gap the folder of that name need not be there: the program outside has made the name lead here.
  const path = outside === undefined ? named : join(outside.folder, INVOKE_SOCKET);
  const [{ createInvokeServer }, { listenByName }, { ownUserId, peerOf }, { newKey }] = await Promise.all([
    import("../link/invoke-server.ts"),
    import("../host/net/named-socket.ts"),
    import("../host/net/private-socket.ts"),
    import("../host/os/lazy-builtins.ts"),
  ]);
  const { log } = app.observer;
  if (outside?.invokeRefusal !== undefined) {
    log.warn({ reason: outside.invokeRefusal }, "/invoke is not served on the Unix socket");
    return () => {};
  }
  const token = Buffer.from(newKey()).toString("base64url");
  const server = createInvokeServer({
    core: app.core,
    token,
    isOwnUser: (socket) => {
      const peer = peerOf(socket);
      // Elsewhere the folder and the token are what there is.
      return peer === undefined ? process.platform !== "linux" : peer.uid === ownUserId();
    },
    newId: app.newId,
    timestamp: () => new Date().toISOString(),
    maxBodyBytes: () => app.config.current().config.mcp.limits.max_frame_bytes,
    onRefused: (reason, detail) => app.refusals.record(reason, { transport: "socket", detail }),
  });
  const remove = await listenByName(server, path, token).catch((thrown: unknown) => {
    const { code, message } = toLlmcError(thrown);
    if (code !== "busy") throw thrown;
    log.warn({ reason: message }, "/invoke is not served on the Unix socket");
    return undefined;
  });
  if (remove === undefined) return () => {};
  log.info({ socket: named }, "serving /invoke on a Unix socket");
  return () => {
    server.close();
    server.closeAllConnections();
    remove();
  };
};
