import { cleanName } from "../base/text.ts";
import type { LineRunner, SingleProgram } from "../host/run/line/contract.ts";
import { NOTHING_QUARANTINED } from "../host/run/scan/quarantined.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import type { Usage } from "../host/state/usage/usage.ts";
import { commandText, quoteArgv } from "./command-label.ts";
import type { Session } from "./contract.ts";
import type { Envelope, EnvelopeCall, EnvelopeResult } from "./port.ts";
import { answerTe } from "./te-answers.ts";
import { parseTe, TE_HELP, type TeWho } from "./te-args.ts";
import { estimateTokens } from "./text/token-estimate.ts";

interface TeCommandParts {
  readonly envelope: Envelope;
  readonly handles: Pick<Handles, "readChunk" | "list">;
  readonly usage: Pick<Usage, "summary">;
  readonly isEnabled: () => boolean;
  /** Names to use if it is not known who runs a command. */
  readonly defaults: () => { readonly agentId: string; readonly model: string };
  readonly version: string;
  /** The program of a line and its arguments; undefined where the line is more than one program. */
  readonly single: (
    call: Parameters<LineRunner["single"]>[0],
    signal: AbortSignal | undefined,
  ) => Promise<Pick<SingleProgram, "command" | "cwd"> | undefined>;
}

const LEADING_TE = /^\s*te(?=\s|$)/;

/**
 * Values from the transport take precedence; arguments only fill in missing ones and never change the owner of the
 * budget.
 */
const fillIn = (session: Session, who: TeWho, defaults: { agentId: string; model: string }): Session => ({
  ...session,
  ...(who.agent !== undefined && session.agentId === defaults.agentId
    ? { agentId: cleanName(who.agent) }
    : {}),
  ...(who.model !== undefined && session.model === defaults.model ? { model: cleanName(who.model) } : {}),
});

const resultOf = (command: string, stdout: string, session: Session, startedAt: number): EnvelopeResult => {
  const durationMs = performance.now() - startedAt;
  return {
    document: {
      success: true,
      mode: "passthrough",
      command,
      stdout,
      stderr: "",
      exit_code: 0,
      enrichment: {
        match_count: null,
        truncated: false,
        handle: null,
        tokens_estimate: estimateTokens(stdout),
      },
      telemetry: {
        latency_ms: Math.round(durationMs * 10) / 10,
        agent_id: session.agentId,
        budget_remaining: null,
      },
    },
    output: { stdout, stderr: "", truncated: false },
    keepsAll: false,
    tests: undefined,
    tier: null,
    durationMs,
    timedOut: false,
    quarantined: NOTHING_QUARANTINED,
    programs: [],
  };
};

/** Serves a command line whose program is `te` itself: the command that it wraps runs like any other. */
export const serveTeCommand = (parts: TeCommandParts): Envelope => ({
  run: async (call: EnvelopeCall, session: Session, signal?: AbortSignal) => {
    const isTe = typeof call.command === "string" ? LEADING_TE.test(call.command) : call.command[0] === "te";
    if (!isTe || !parts.isEnabled()) return parts.envelope.run(call, session, signal);
    const startedAt = performance.now();
    const found =
      typeof call.command === "string"
        ? await parts.single({ command: call.command, cwd: call.cwd, may: session.may, session }, signal)
        : { command: call.command, cwd: call.cwd };
    if (found === undefined) {
      // A line of several programs is summarized anyway.
      const command = commandText(call.command).replace(LEADING_TE, "");
      return parts.envelope.run({ ...call, command }, session, signal);
    }
    const [, ...args] = found.command;
    const request = parseTe(args);
    const command = quoteArgv(["te", ...args]);
    const answer = (text: string): EnvelopeResult => resultOf(command, text, session, startedAt);
    if (request.kind === "help") return answer(TE_HELP);
    if (request.kind === "version") return answer(`${parts.version}\n`);
    if (request.kind !== "run") {
      const { text, note } = await answerTe(
        request,
        {
          ...parts,
          principal: session.principal,
          owner: session.owner,
          session: session.sessionId,
          bars: false,
        },
        signal,
      );
      return answer(note === "" || text.endsWith("\n") ? `${text}${note}` : `${text}\n${note}`);
    }
    const { argv, json, who } = request;
    const raw = request.raw || (call.raw ?? false);
    const result = await parts.envelope.run(
      { ...call, command: argv, cwd: found.cwd, raw },
      fillIn(session, who, parts.defaults()),
      signal,
    );
    if (!json) return result;
    const stdout = `${JSON.stringify(result.document)}\n`;
    const output = { stdout, stderr: "", truncated: false };
    return { ...result, output, document: { ...result.document, stdout, stderr: "" } };
  },
});
