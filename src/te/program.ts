import { toLlmcError } from "../base/error.ts";
import { cleanName, showControls } from "../base/text.ts";
import type { Session } from "../envelope/contract.ts";
import { parseTe, TE_HELP, type TeRequest, type TeWho } from "../envelope/te-args.ts";
import { findWorkspace } from "../host/os/find-workspace.ts";
import type { TeAudit } from "./audit.ts";
import { loadTeConfig, type TeConfig } from "./config.ts";
import type { TeParts, TeStreams } from "./parts.ts";
import { printMessage } from "./print-message.ts";
import type { RunContext, RunRequest } from "./run-context.ts";

/** As timeout(1) and env(1): the failure is ours, not the command's. */
const OWN_FAILURE = 125;

/** What a person's own commands are recorded as, where nobody says more: no client had a part in them. */
const TE_AGENT = "te";
/** The default of `mcp.session.default_agent_id`. */
const NOBODY = "unknown";

/** Flags come first, then the environment, then the configuration. A session without a name has no budget. */
const sessionOf = (who: TeWho, { session }: TeConfig, { env, principal }: TeParts): Session => {
  const { TE_AGENT_ID, TE_SESSION_ID, TE_MODEL } = env;
  const { default_agent_id: configured } = session;
  const usual = configured === NOBODY ? TE_AGENT : configured;
  const sessionId = cleanName(who.session ?? TE_SESSION_ID ?? "");
  return {
    agentId: cleanName(who.agent ?? (TE_AGENT_ID || usual)),
    sessionId,
    model: cleanName(who.model ?? (TE_MODEL || session.default_model)),
    budgetProfile: session.default_budget_profile,
    principal,
    // Whoever types commands here may name any session: it only helps the user to keep their own agents apart.
    owner: sessionId === "" ? "" : `te:${sessionId}`,
    may: new Set(["read", "write", "execute"]),
  };
};

const fail = (thrown: unknown, streams: TeStreams): number => {
  const { code, message, hint, cause } = toLlmcError(thrown);
  // te has no log: the detail goes to whoever typed the command.
  const detail = code === "internal_error" && cause instanceof Error ? cause.stack : hint;
  printMessage(streams, `te: ${message}${detail === undefined ? "" : `\n    ${detail}`}`);
  return OWN_FAILURE;
};

/** A person at a terminal pays for no tokens: output without an enricher stays as it is, with colours and prompts. */
const isForPerson = async ({ argv }: RunRequest, { streams }: RunContext): Promise<boolean> =>
  Boolean(streams.stdout.isTTY) &&
  (await import("../envelope/enrich/all.ts")).enricherFor(argv) === undefined;

/** Runs a command for the person, or the agent, at this terminal. */
const runCommand = async (request: RunRequest, context: RunContext): Promise<number> => {
  const goesThrough =
    !request.json && (request.raw || context.state === undefined || (await isForPerson(request, context)));
  // Loaded apart: a command that passes through needs no enricher, and must not fail with one.
  try {
    if (goesThrough) return await (await import("./pass-through.ts")).passThrough(request, context);
    return await (await import("./envelop.ts")).envelop(request, context);
  } finally {
    context.state?.close();
  }
};

const recorded = async (work: () => Promise<number>, audit: TeAudit): Promise<number> => {
  try {
    const exitCode = await work();
    await audit.end({ exitCode });
    return exitCode;
  } catch (thrown) {
    await audit.end({ failure: toLlmcError(thrown).code });
    throw thrown;
  }
};

const run = async (
  request: Extract<TeRequest, { kind: "run" }>,
  root: string | undefined,
  parts: TeParts,
): Promise<number> => {
  const config = await loadTeConfig(parts, root ?? parts.cwd);
  const state =
    root === undefined || !config.te.enabled
      ? undefined
      : (await import("./state.ts")).openTeState(root, config, parts);
  const session = sessionOf(request.who, config, parts);
  const { cwd, env, streams } = parts;
  const work = () => runCommand(request, { cwd, env, streams, session, config, state });
  return root === undefined || !config.te.enabled || !config.audit.enabled
    ? work()
    : recorded(work, (await import("./audit.ts")).openTeAudit(root, config, parts, { ...request, session }));
};

const perform = async (request: TeRequest, parts: TeParts): Promise<number> => {
  const { streams } = parts;
  const { stdout } = streams;
  if (request.kind === "help" || request.kind === "version") {
    stdout.write(request.kind === "help" ? TE_HELP : `${parts.version}\n`);
    return 0;
  }
  const workspace = findWorkspace(parts.cwd);
  if (request.kind === "run") return run(request, workspace, parts);
  const { answerFor } = await import("./answer.ts");
  const { text, note } = await answerFor(request, workspace, parts);
  stdout.write(stdout.isTTY ? showControls(text) : text);
  if (note !== "") printMessage(streams, note);
  return 0;
};

/** The `te` program. The exit code is the command's. */
export const runTe = async (argv: readonly string[], parts: TeParts): Promise<number> => {
  // A reader that closes its end early is not an error.
  parts.streams.stdout.on("error", () => {});
  parts.streams.stderr.on("error", () => {});
  try {
    return await perform(parseTe(argv), parts);
  } catch (thrown) {
    return fail(thrown, parts.streams);
  }
};
