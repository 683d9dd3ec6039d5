import { join, relative } from "node:path";
import { LlmcError } from "../base/error.ts";
import { CONFIG_FILE } from "../base/paths.ts";
import { createOperatorDisk } from "../host/trust/operator-writes.ts";
import type { ActionsOf } from "./invocation.ts";
import { loadFor } from "./load.ts";
import { LAUNCHER } from "./program-launch.ts";
import { requestOf } from "./request.ts";
import { serveStdio } from "./serve.ts";
import { serveHttp } from "./serve-http.ts";

/** The shortest way to name this program from here, for texts that a person copies. */
const shownLauncher = (cwd: string): string => {
  const near = relative(cwd, LAUNCHER);
  return near.startsWith("..") ? LAUNCHER : near;
};

/** Commands that serve, or prepare a workspace or a client for it. */
export const setupActions: ActionsOf<"serve" | "init" | "allow" | "connect" | "token"> = (run) => ({
  serve: async (options) => {
    if ((options.stdio ?? false) === (options.http ?? false)) {
      throw new LlmcError("invalid_args", "Choose one door: --stdio or --http.", {
        hint: "Clients start llmc with --stdio.",
      });
    }
    const request = await requestOf(run, options, true);
    if (options.stdio) return serveStdio(request, run.signals);
    if (run.io.canAsk) await (await import("./trust.ts")).offerTrust(request, run.io);
    return serveHttp({
      app: request,
      io: run.io,
      signals: run.signals,
      generateToken: options.generateToken ?? false,
      command: shownLauncher(run.cwd),
    });
  },
  init: async (options) => {
    const { runInit } = await import("../cli/config-command.ts");
    const request = await requestOf(run, options);
    const file = request.configPath ?? join(request.root, CONFIG_FILE);
    const written = await runInit(file, createOperatorDisk(request.folders.state, request.root), run.io, {
      all: options.all ?? false,
      print: options.print ?? false,
      extend: async (template) =>
        (await import("./init-presets.ts")).withPresets(template, request, run.io, options),
    });
    if (written !== undefined) await (await import("./trust.ts")).trustWritten(request, file, written);
  },
  allow: async (programs, options) => {
    const [{ runAllow }, { planAllow }] = await Promise.all([
      import("../cli/allow-command.ts"),
      import("./allow.ts"),
    ]);
    await runAllow(await planAllow(await requestOf(run, options), programs), run.io, options);
  },
  token: async (options) => {
    const request = await requestOf(run, options);
    const { config } = await loadFor(request);
    const { tokenOf } = await import("./token-file.ts");
    run.io.data(`${(await tokenOf(request, config.mcp.auth.token_env, true)).token}\n`);
  },
  connect: async (client, options) => {
    const [{ runConnect }, { programLaunch }] = await Promise.all([
      import("../cli/connect-command.ts"),
      import("./program-launch.ts"),
    ]);
    const app = await requestOf(run, options);
    const { root, configPath } = app;
    const request = {
      client,
      workspace: root,
      isWorkspaceNamed: options.root !== undefined,
      program: programLaunch(run.env),
      extraArgs: [
        ...(configPath === undefined ? [] : ["--config", configPath]),
        ...(options.mode === undefined ? [] : ["--mode", options.mode]),
      ],
      home: run.home,
      platform: process.platform,
      environment: run.env,
      ...(options.scope === undefined ? {} : { scope: options.scope }),
      ...(options.name === undefined ? {} : { name: options.name }),
    };
    await runConnect(
      {
        request,
        remove: options.remove ?? false,
        print: options.print ?? false,
        yes: options.yes ?? false,
        describePrograms: async () => (await import("./init-presets.ts")).describePrograms(app),
      },
      createOperatorDisk(app.folders.state, root),
      run.io,
    );
  },
});
