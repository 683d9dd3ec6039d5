import { join, relative } from "node:path";
import { LlmcError } from "../base/error.ts";
import { CONFIG_FILE } from "../base/paths.ts";
import { runAllow } from "../cli/allow-command.ts";
import { runInit } from "../cli/config-command.ts";
import { runConnect } from "../cli/connect-command.ts";
import { createOperatorDisk } from "../host/trust/operator-writes.ts";
import { planAllow, planUserAllow } from "./allow.ts";
import { examineAbove } from "./doctor-above.ts";
import { describePrograms, withPresets } from "./init-presets.ts";
import type { ActionsOf } from "./invocation.ts";
import { loadFor } from "./load.ts";
import { describeOtherState } from "./other-state.ts";
import { LAUNCHER, programLaunch } from "./program-launch.ts";
import { requestOf } from "./request.ts";
import { describeRunsInside, INSTALL_OUTSIDE } from "./runs-inside.ts";
import { serveStdio } from "./serve.ts";
import { serveHttp } from "./serve-http.ts";
import { tokenOf } from "./token-file.ts";
import { offerTrust, trustWritten } from "./trust.ts";

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
    if (run.io.canAsk) await offerTrust(request, run.io);
    return serveHttp({
      app: request,
      io: run.io,
      signals: run.signals,
      generateToken: options.generateToken ?? false,
      command: shownLauncher(run.cwd),
    });
  },
  init: async (options) => {
    const request = await requestOf(run, options);
    const file = request.configPath ?? join(request.root, CONFIG_FILE);
    const written = await runInit(file, createOperatorDisk(request.folders.state, request.root), run.io, {
      all: options.all ?? false,
      print: options.print ?? false,
      extend: (template) => withPresets(template, request, run.io, options),
    });
    if (written !== undefined) await trustWritten(request, file, written, { isRecorded: false });
  },
  allow: async (programs, options) => {
    if (programs.length === 0 && options.repository !== true)
      throw new LlmcError("invalid_args", "Nothing was named to allow.", {
        hint: "Name programs, or give --repository.",
      });
    const request = await requestOf(run, options);
    const isUser = options.user === true;
    const wanted = { names: programs, repository: options.repository === true };
    await runAllow(
      await (isUser ? planUserAllow(request, wanted) : planAllow(request, wanted)),
      run.io,
      options,
    );
    // The user's own file needs no trust.
    const note = isUser ? undefined : await describeOtherState(request);
    if (note !== undefined) run.io.err(`note: ${note}\n`);
  },
  token: async (options) => {
    const request = await requestOf(run, options);
    const { config } = await loadFor(request);
    const { token } = await tokenOf(request, config.mcp.auth.token_env, "read");
    if (token === undefined)
      throw new LlmcError("resource_not_found", "No token was made for this workspace.", {
        hint: "llmc serve --http --generate-token makes one, in the folder that it serves.",
      });
    run.io.data(`${token}\n`);
  },
  connect: async (client, options) => {
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
        describePrograms: async () => {
          const inside = describeRunsInside(app);
          const notes = [
            ...(inside === undefined ? [] : [`${inside}: ${INSTALL_OUTSIDE}.`]),
            ...examineAbove(root, await loadFor(app)).map(({ detail, fix }) => `${detail}: ${fix}.`),
          ];
          return `${await describePrograms(app)}${notes.map((note) => `note: ${note}\n`).join("")}`;
        },
      },
      createOperatorDisk(app.folders.state, root),
      run.io,
    );
  },
});
