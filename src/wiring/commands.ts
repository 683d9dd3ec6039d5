import { randomUUID } from "node:crypto";
import { LlmcError } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";
import type { Actions, CommonOptions } from "../cli/actions.ts";
import { runAllow } from "../cli/allow-command.ts";
import { runCall } from "../cli/call-command.ts";
import { completeArguments, completionScript } from "../cli/completion.ts";
import { explainConfig, showConfig, validateConfig } from "../cli/config-command.ts";
import { runDoctor } from "../cli/doctor-command.ts";
import { runIndex, withProgressBar } from "../cli/index-command.ts";
import type { Io } from "../cli/io.ts";
import { runLocks } from "../cli/locks-command.ts";
import { createProgram } from "../cli/program.ts";
import { runProgram } from "../cli/run-program.ts";
import { runTools } from "../cli/tools-command.ts";
import { runTrust, validateRepo } from "../cli/trust-command.ts";
import { runUsage } from "../cli/usage-command.ts";
import { describeWaiting } from "../config/waiting.ts";
import { usageText } from "../envelope/usage-text.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import { allTools } from "../tools/all.ts";
import { inAirGap } from "./air-gapped-actions.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { auditActions } from "./audit-commands.ts";
import type { ActionsOf, Invocation } from "./invocation.ts";
import { describeLeftOut } from "./left-out-code.ts";
import { loadFor } from "./load.ts";
import { describeUnnamedMode, isModeUnnamed } from "./mode-prices.ts";
import { describeOtherState } from "./other-state.ts";
import { policyActions, policyProblems } from "./policy-commands.ts";
import { quarantineActions } from "./quarantine.ts";
import { questionOf } from "./question-file.ts";
import { requestOf } from "./request.ts";
import { rlmActions } from "./rlm-commands.ts";
import { setupActions } from "./setup-commands.ts";
import { createTrust } from "./trust.ts";
import { trustCommand } from "./trust-command-line.ts";
import { typedNumber } from "./typed-number.ts";
import { describeUnknownTools, unknownTools } from "./unknown-tools.ts";
import { VERSION } from "./version.ts";

/** Commands for people log errors only, unless they ask for more. */
const quiet = (request: AppRequest): AppRequest => ({
  ...request,
  overrides: {
    "mcp.logging.level": { flag: "(command)", value: "error" },
    "mcp.logging.structured_output": { flag: "(command)", value: false },
    ...request.overrides,
  },
});

const loadWith = async (run: Invocation, options: CommonOptions) => loadFor(await requestOf(run, options));

/**
 * The app of a command for people. Warnings, what still has to be trusted, and scripts that could not become tools
 * are reported on stderr.
 */
const openQuietly = async (run: Invocation, options: CommonOptions): Promise<App> => {
  const { io } = run;
  const request = await requestOf(run, options);
  const app = await createApp(quiet(request));
  const { waiting, warnings } = app.config.current();
  for (const warning of warnings) io.err(`note: ${warning}\n`);
  const trust = trustCommand(request);
  if (waiting.length > 0) io.err(`note: ${describeWaiting(waiting, trust)}\n`);
  for (const one of app.core.leftOut()) io.err(`note: ${describeLeftOut(one, trust)}\n`);
  return app;
};

const withApp = async (
  run: Invocation,
  options: CommonOptions,
  work: (app: App) => Promise<void>,
): Promise<void> => {
  const app = await openQuietly(run, options);
  try {
    await work(app);
  } finally {
    await app.close();
  }
};

/** Fires when the person ends the program: by ctrl-c, or as its terminal ends. */
const interruptOf = ({ io }: Invocation): AbortSignal => {
  const stop = new AbortController();
  io.onInterrupt(() => stop.abort());
  return stop.signal;
};

/** At a terminal the index is brought up to date before the question, with a progress bar for the person who waits. */
const indexFirst = async (io: Io, app: App, signal: AbortSignal): Promise<void> => {
  if (!io.canRedraw) return;
  const { retrieval } = await app.engines();
  await withProgressBar(retrieval, io, { force: false, signal, now: app.now });
};

/** Every command that calls a tool: the call is ended by ctrl-c, and the program with it. */
const callTool = (
  run: Invocation,
  options: CommonOptions,
  call: Omit<Parameters<typeof runCall>[2], "correlationId" | "signal" | "allow">,
  needsIndex = false,
): Promise<void> =>
  withApp(run, { ...options, mode: options.mode ?? "classic" }, async (app) => {
    const signal = interruptOf(run);
    if (needsIndex) await indexFirst(run.io, app, signal);
    await runCall(app.core, run.io, {
      ...call,
      correlationId: randomUUID(),
      signal,
      allow: async (names) => {
        const { planAllow } = await import("./allow.ts");
        // Beside the result, which goes to stdout.
        const io = { ...run.io, out: run.io.err };
        await runAllow(await planAllow(await requestOf(run, options), { names }), io, { yes: true });
      },
    });
  });

/** A command that asks the index by a tool, with its own names for the arguments. */
const askTool = (
  run: Invocation,
  { json, ...common }: CommonOptions & { readonly json?: true },
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<void> => callTool(run, common, { tool, args: JSON.stringify(args), json: json ?? false }, true);

const trustActions: ActionsOf<
  "trust" | "validateRepo" | "showConfig" | "validateConfig" | "explainConfig"
> = (run) => ({
  trust: async (options) => {
    // Trust in a workspace that was removed can still be taken back.
    const request = await requestOf(run, options, false, options.revoke ?? false);
    await runTrust(createTrust(request), run.io, options);
    const note = options.json || options.list ? undefined : await describeOtherState(request);
    if (note !== undefined) run.io.err(`note: ${note}\n`);
  },
  validateRepo: async (options) => {
    const request = await requestOf(run, options);
    const loaded = await loadFor(request);
    const problems = await policyProblems(run, options);
    await validateRepo(loaded, createTrust(request), run.io, { json: options.json ?? false, problems });
    if (problems.length > 0) run.setExitCode(ERROR_TABLE.config_invalid.exit);
  },
  showConfig: async (options) => {
    showConfig(await loadWith(run, options), run.io, {
      origin: options.origin ?? false,
      json: options.json ?? false,
    });
  },
  validateConfig: async (options) => {
    const loaded = await loadWith(run, options);
    const unknown = unknownTools(loaded);
    const more = unknown.length === 0 ? [] : [describeUnknownTools(unknown)];
    validateConfig({ ...loaded, warnings: [...loaded.warnings, ...more] }, run.io, {
      json: options.json ?? false,
    });
  },
  explainConfig: async (key, options) => {
    const loaded = await loadWith(run, options).catch((thrown: unknown) => {
      if (!(thrown instanceof LlmcError)) throw thrown;
      run.io.err(`note: ${thrown.message}\n`);
      return undefined;
    });
    explainConfig(key, loaded, run.io, { json: options.json ?? false });
  },
});

const appActions: ActionsOf<"doctor" | "tools" | "locks" | "usage" | "call"> = (run) => ({
  doctor: async (options) => {
    const request = await requestOf(run, options);
    // The engines come along: 0.1 s that no other command needs.
    const [{ examine }, { attack }, { examineSandbox }] = await Promise.all([
      import("./doctor.ts"),
      import("./doctor-attack.ts"),
      import("./doctor-sandbox.ts"),
    ]);
    const findings = [
      ...(await examine(request)),
      ...(options.attack ? await attack(request) : []),
      ...(options.sandbox ? await examineSandbox(request) : []),
    ];
    if (!runDoctor(findings, run.io, { json: options.json ?? false }))
      run.setExitCode(ERROR_TABLE.unavailable.exit);
  },
  tools: ({ mode, ...options }) =>
    withApp(run, options, async (app) => {
      await runTools(app.core, run.io, await tokenCounter(), { mode, json: options.json ?? false });
      if (isModeUnnamed(app.config.current())) run.io.err(`note: ${await describeUnnamedMode(app.core)}\n`);
    }),
  locks: (options) =>
    withApp(run, options, async (app) => {
      const { locks } = await app.engines();
      runLocks(locks, run.io, { json: options.json ?? false });
    }),
  usage: (options) =>
    withApp(run, options, async (app) => {
      const { usage } = await app.engines();
      runUsage({ summary: usage.summary, text: usageText }, run.io, options);
    }),
  call: (tool, { args, json, structured, agent, session, model, ...common }) =>
    callTool(run, common, {
      tool,
      args: args ?? (typeof json === "string" ? json : "{}"),
      json: json === true || (structured ?? false),
      agent,
      session,
      model,
    }),
});

const indexActions: ActionsOf<"index" | "search" | "whereUsed" | "inspect"> = (run) => ({
  index: (options) =>
    withApp(run, options, async (app) => {
      const signal = interruptOf(run);
      const { retrieval } = await app.engines();
      await runIndex(retrieval, run.io, {
        force: options.force ?? false,
        json: options.json ?? false,
        signal,
        now: app.now,
      });
    }),
  search: async (query, options) =>
    askTool(run, options, "rag_search", {
      query: await questionOf(run, query, options.file),
      scope: options.scope,
      k: typedNumber(options.k),
      budget_tokens: typedNumber(options.budget),
      path_glob: options.path,
      language: options.language,
      kind: options.kind,
    }),
  whereUsed: (symbol, options) =>
    askTool(run, options, "rag_where_used", { symbol, limit: typedNumber(options.limit) }),
  inspect: (target, options) => askTool(run, options, "inspect", { target }),
});

const kbActions: ActionsOf<"kb"> = (run) => ({
  kb: async (command, options) => {
    const { json, ...common } = options;
    const isJson = { json: json ?? false };
    if (command.do === "search") {
      const { name: collection, query, version, topK } = command;
      const filters = version === undefined ? undefined : { version };
      const args = JSON.stringify({ collection, query, filters, top_k: typedNumber(topK) });
      return callTool(run, common, { tool: "kb_hybrid_search", args, ...isJson });
    }
    if (command.do === "ask") {
      const { query, collection, model } = command;
      const filters = collection === undefined ? undefined : { collection };
      // Whoever types it is the operator, who sets the model; a call may only choose it where they let it.
      const set = model === undefined ? common.set : [...common.set, `mcp.kb.answer_model=${model}`];
      const args = JSON.stringify({ query, filters });
      return callTool(run, { ...common, set }, { tool: "kb_answer", args, ...isJson });
    }
    return withApp(run, common, async (app) => {
      const { runKbCommand } = await import("./kb-commands.ts");
      await runKbCommand(run, app, command, options);
    });
  },
});

const programOf = (run: Invocation): ReturnType<typeof createProgram> => {
  const actions: Actions = {
    ...setupActions(run),
    ...trustActions(run),
    ...policyActions(run),
    ...appActions(run),
    ...indexActions(run),
    ...kbActions(run),
    ...auditActions(run),
    ...quarantineActions(run),
    ...rlmActions(openQuietly)(run),
    completion: async (shell, typed) => {
      const values = { tool: allTools.map(({ name }) => name) };
      if (typed.length === 0) run.io.data(completionScript(shell));
      else for (const line of completeArguments(programOf(run), typed, values)) run.io.data(`${line}\n`);
    },
  };
  return createProgram(inAirGap(run, actions), VERSION, run.io.data);
};

/** Every command but `serve --stdio`, which starts without all this. */
export const runCommandLine = (argv: readonly string[], run: Invocation): Promise<void> =>
  runProgram(programOf(run), argv);
