import { toLlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import { createEnvelope, type EnvelopeParts } from "../envelope/envelope.ts";
import type { Launch } from "../envelope/launch.ts";
import type { Envelope } from "../envelope/port.ts";
import { envelopeSettings } from "../envelope/settings.ts";
import { serveTeCommand } from "../envelope/te-command.ts";
import { packagesAbove } from "../host/os/packages-above.ts";
import type { LineRunner } from "../host/run/line/contract.ts";
import { showQuarantined } from "../host/run/scan/quarantined.ts";
import type { Handles } from "../host/state/handles/handles.ts";
import type { Usage } from "../host/state/usage/usage.ts";
import type { Log } from "../observe/log.ts";
import { VERSION } from "./version.ts";

interface EnvelopeWiring {
  readonly root: string;
  readonly config: () => Loaded["config"];
  readonly lines: LineRunner;
  readonly handles: Handles;
  readonly usage: Usage;
  readonly log: Log;
  /** What keeps commands from changing a path. */
  readonly closedAt: EnvelopeParts["closedAt"];
  readonly onCommand: ((mode: string, latencyMs: number) => void) | undefined;
}

const launchThrough =
  ({ lines, root }: EnvelopeWiring): Launch =>
  async (call, signal) => {
    const outcome = await lines.run({ ...call, may: call.session.may }, signal);
    return { ...outcome, quarantined: showQuarantined(outcome.quarantined, root) };
  };

/** Runs commands of tools through the gate and summarizes their output. */
export const createCommandEnvelope = (parts: EnvelopeWiring): Envelope => {
  const { config, handles, usage, log } = parts;
  const warned = new Set<string>();
  const envelope = createEnvelope({
    launch: launchThrough(parts),
    handles,
    usage,
    settings: () => {
      const { te, handles: kept, tools } = config().mcp;
      return envelopeSettings(te, kept.max_each_mb, {
        timeoutSeconds: tools.exec_timeout,
        maxTimeoutSeconds: Math.max(tools.exec_timeout, tools.max_exec_timeout),
        hasNetwork: tools.allow_outbound_network,
      });
    },
    onFailure: (what, error) => {
      if (warned.has(what)) return;
      warned.add(what);
      log.warn(
        { what, code: toLlmcError(error).code },
        "a part of the envelope failed; the command continued",
      );
    },
    onDone: parts.onCommand,
    root: parts.root,
    packagesAbove: () => packagesAbove(parts.root),
    closedAt: parts.closedAt,
  });
  return serveTeCommand({
    envelope,
    handles,
    usage,
    isEnabled: () => config().mcp.te.enabled,
    defaults: () => ({
      agentId: config().mcp.session.default_agent_id,
      model: config().mcp.session.default_model,
    }),
    version: VERSION,
    single: (call, signal) => parts.lines.single(call, signal).catch(() => undefined),
  });
};
