import { randomUUID } from "node:crypto";
import { join, relative, resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { systemErrorCode } from "../base/system-error.ts";
import type { CommonOptions, RlmFlags } from "../cli/actions.ts";
import { runAllow } from "../cli/allow-command.ts";
import { CLI_AGENT } from "../cli/call-command.ts";
import { runRlmQuery, showEstimate } from "../cli/rlm-command.ts";
import { EFFECTS, LOCAL } from "../core/contract.ts";
import { validateArguments } from "../core/validate.ts";
import { openPage } from "../host/os/open-page.ts";
import { removeOwnFile } from "../host/own-files/old-files.ts";
import { readOwnFile } from "../host/own-files/read-own-file.ts";
import { replaceFile } from "../host/own-files/replace-file.ts";
import type { App } from "./app.ts";
import type { ActionsOf, Invocation } from "./invocation.ts";
import { requestOf } from "./request.ts";
import { traceFolder } from "./trace-wiring.ts";
import { typedNumber } from "./typed-number.ts";

const MAX_TRACE_BYTES = 512 * 1024 * 1024;
const PRIVATE_MODE = 0o600;

/** What the flags of this command mean as configuration. */
const settingsOf = (run: Invocation, options: RlmFlags): readonly string[] => {
  const { trace, traceContent, record, replay, strict } = options;
  const cassette = record ?? replay;
  const mode = record !== undefined ? "record" : strict === true ? "strict" : "replay";
  return [
    ...(trace === undefined ? [] : ["mcp.rlm.trace_enabled=true"]),
    ...(traceContent === true ? ["mcp.rlm.trace_content=true"] : []),
    ...(cassette === undefined
      ? []
      : [`mcp.rlm.cassette=${mode}`, `mcp.rlm.cassette_file=${resolve(run.cwd, cassette)}`]),
  ];
};

/** What the fields of the tool are called on the command line. */
const FLAGS: Readonly<Record<string, string>> = {
  max_bytes: "--max-bytes",
  budget_usd: "--budget-usd",
  max_turns: "--max-turns",
  timeout_s: "--timeout",
};

/** The same failure, with a hint that can be typed. */
const inFlags = ({ code, message, hint, details, retryable, cause }: LlmcError): LlmcError =>
  new LlmcError(code, message, {
    ...(hint === undefined
      ? {}
      : { hint: hint.replaceAll(/(?<![.\w])[a-z]+_[a-z]+\b/g, (name) => FLAGS[name] ?? name) }),
    details,
    retryable,
    cause,
  });

const argsOf = async (run: Invocation, task: string, options: RlmFlags, app: App) => {
  const { file, context } = options;
  const { rlm } = app.config.current().config.mcp;
  if ((file === undefined) === (context === undefined)) {
    throw new LlmcError("invalid_args", "An analysis needs one text: --file, or --context.", {
      hint: 'llmc rlm query "what does this do?" --file FILE, or … --context - to read stdin',
    });
  }
  const given = {
    task,
    path: file === undefined ? undefined : relative(app.root, resolve(run.cwd, file)),
    context: context === "-" ? await run.io.readInput(rlm.max_bytes_limit) : context,
    budget_usd: typedNumber(options.budgetUsd),
    max_turns: typedNumber(options.maxTurns),
    timeout_s: typedNumber(options.timeout),
    max_bytes: typedNumber(options.maxBytes),
    model: options.model,
    language: options.language,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
};

/** Moves what the analysis wrote into its folder to where the person wants it. */
const keepTrace = async (app: App, run: Invocation, userState: string, name: string, target: string) => {
  const folder = traceFolder(app.config.current().config, app.root, userState);
  const text = readOwnFile(join(folder, name), { maxBytes: MAX_TRACE_BYTES }).toString("utf8");
  await replaceFile(resolve(run.cwd, target), text, PRIVATE_MODE);
  await removeOwnFile(join(folder, name));
  run.io.err(`The trace is in ${target}; llmc rlm view ${target} makes a page of it.\n`);
};

const estimateOf = async (app: App, typed: Readonly<Record<string, unknown>>, signal: AbortSignal) => {
  // The bounds of the tool hold for its estimate, too.
  const { rlmQuery } = await import("../tools/rlm-query.ts");
  const args = (await validateArguments(rlmQuery.input, typed)) as Readonly<Record<string, unknown>>;
  const { rlm, files } = await app.engines();
  const caller = {
    agentId: CLI_AGENT,
    sessionId: CLI_AGENT,
    model: "",
    transport: "cli",
    principal: LOCAL,
    owner: CLI_AGENT,
    may: new Set<string>(EFFECTS),
    // Nothing is sent: what the configuration refuses is still said.
    permitHost: () => {},
  } as const;
  return rlm.estimate(
    {
      task: String(args["task"]),
      path: args["path"] as string | undefined,
      context: args["context"] as string | undefined,
      budgetUsd: Number(args["budget_usd"]),
      maxBytes: args["max_bytes"] === undefined ? undefined : Number(args["max_bytes"]),
      maxTurns: Number(args["max_turns"]),
      model: args["model"] as string | undefined,
      language: args["language"] as string | undefined,
    },
    files,
    { caller, correlationId: randomUUID(), signal, onProgress: () => {} },
  );
};

type OpenApp = (run: Invocation, options: CommonOptions) => Promise<App>;

/** `llmc rlm`: the tool for people, and pages of traces. */
export const rlmActions =
  (open: OpenApp): ActionsOf<"queryRlm" | "viewTrace"> =>
  (run) => ({
    queryRlm: async (task, options) => {
      const common = {
        ...options,
        mode: options.mode ?? "classic",
        set: [...options.set, ...settingsOf(run, options)],
      } as const;
      const request = await requestOf(run, common);
      const app = await open(run, common);
      const stop = new AbortController();
      run.io.onInterrupt(() => stop.abort());
      const keep = async (name: string | undefined): Promise<void> => {
        if (name !== undefined && options.trace !== undefined)
          await keepTrace(app, run, request.folders.state, name, options.trace);
      };
      try {
        const args = await argsOf(run, task, options, app);
        if (options.estimate === true) {
          showEstimate({ ...(await estimateOf(app, args, stop.signal)) }, run.io, options.json ?? false);
          return;
        }
        const name = await runRlmQuery(app.core, run.io, {
          args,
          json: options.json ?? false,
          correlationId: randomUUID(),
          signal: stop.signal,
          now: app.now,
          allow: async (names) => {
            const { planAllow } = await import("./allow.ts");
            await runAllow(
              await planAllow(request, { names }),
              { ...run.io, out: run.io.err },
              { yes: true },
            );
          },
        }).catch(async (thrown: unknown) => {
          if (!(thrown instanceof LlmcError)) throw thrown;
          await keep(thrown.details["trace_file"] as string | undefined);
          throw inFlags(thrown);
        });
        await keep(name);
      } finally {
        await app.close();
      }
    },
    viewTrace: async (trace, { content = false, print = false, ...options }) => {
      const { out = trace.replace(/(?:\.json)?$/, ".html") } = options;
      const { parseTrace, tracePage } = await import("../rlm/trace-page.ts");
      let text: string;
      try {
        text = readOwnFile(resolve(run.cwd, trace), { maxBytes: MAX_TRACE_BYTES }).toString("utf8");
      } catch (cause) {
        const why = systemErrorCode(cause) === "ENOENT" ? "does not exist" : "cannot be read";
        throw new LlmcError("file_not_found", `${trace} ${why}.`, { cause });
      }
      await replaceFile(resolve(run.cwd, out), tracePage(parseTrace(text), content), PRIVATE_MODE);
      run.io.out(`${out}\n`);
      if (!print && run.io.canAsk) openPage(resolve(run.cwd, out), run.env);
    },
  });
