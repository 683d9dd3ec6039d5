import { toLlmcError } from "../base/error.ts";
import { cleanName, showControls } from "../base/text.ts";
import type { Session } from "../envelope/contract.ts";
import { parseTe, TE_HELP, type TeRequest, type TeWho } from "../envelope/te-args.ts";
import { type FoundWorkspace, findWorkspace } from "../host/os/find-workspace.ts";
import { LOCAL } from "../tools/contract.ts";
import { VERSION } from "../wiring/version.ts";
import { loadTeConfig, type TeConfig } from "./config.ts";

/** As timeout(1) and env(1): the failure is ours, not the command's. */
const OWN_FAILURE = 125;

/** Flags, then the environment, then the configuration; a session that nobody named is none. */
const sessionOf = (who: TeWho, { session }: TeConfig): Session => {
  const { TE_AGENT_ID, TE_SESSION_ID, TE_MODEL } = process.env;
  const sessionId = cleanName(who.session ?? TE_SESSION_ID ?? "");
  return {
    agentId: cleanName(who.agent ?? (TE_AGENT_ID || session.default_agent_id)),
    sessionId,
    model: cleanName(who.model ?? (TE_MODEL || session.default_model)),
    principal: LOCAL,
    // Whoever types commands here may name any session: it only helps the user to keep their own agents apart.
    owner: sessionId === "" ? "" : `te:${sessionId}`,
  };
};

const print = (text: string | Uint8Array): void => void process.stdout.write(text);

const fail = (thrown: unknown): number => {
  const { code, message, hint, cause } = toLlmcError(thrown);
  // There is no log to look into: the detail goes to whoever typed the command.
  const detail = code === "internal_error" && cause instanceof Error ? cause.stack : hint;
  process.stderr.write(`te: ${message}${detail === undefined ? "" : `\n    ${detail}`}\n`);
  return OWN_FAILURE;
};

const answer = async (
  request: Extract<TeRequest, { kind: "handle" | "list-handles" | "stats" }>,
  workspace: FoundWorkspace | undefined,
): Promise<number> => {
  const { answerFor } = await import("./answer.ts");
  const { text, note } = await answerFor(request, workspace);
  print(process.stdout.isTTY ? showControls(text) : text);
  if (note !== "") process.stderr.write(`${note}\n`);
  return 0;
};

const perform = async (request: TeRequest): Promise<number> => {
  if (request.kind === "help" || request.kind === "version") {
    print(request.kind === "help" ? TE_HELP : `${VERSION}\n`);
    return 0;
  }
  const workspace = findWorkspace(process.cwd());
  if (request.kind !== "run") return answer(request, workspace);
  const config = await loadTeConfig(workspace);
  const { runRequest } = await import("./run-direct.ts");
  return runRequest(request, sessionOf(request.who, config), workspace, config);
};

/** The `te` program: the exit code is the command's. */
export const runTe = async (argv: readonly string[]): Promise<number> => {
  // A reader that has gone is no reason to complain.
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  try {
    return await perform(parseTe(argv));
  } catch (thrown) {
    return fail(thrown);
  }
};
