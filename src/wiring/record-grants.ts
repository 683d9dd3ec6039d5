import { randomUUID } from "node:crypto";
import { CLI_AGENT } from "../cli/call-command.ts";
import { LOCAL } from "../core/contract.ts";
import type { AuditSettings } from "../host/audit/settings.ts";
import { createAudit } from "./audit-wiring.ts";

const quietly = (): void => {};

interface GrantParts {
  readonly root: string;
  readonly userState: string;
  readonly settings: AuditSettings;
}

/** Records what the operator is about to allow for good. Throws where that fails: what cannot be recorded is not done. */
export const recordGrants = async (
  { settings, ...folders }: GrantParts,
  grants: readonly string[],
): Promise<void> => {
  const log = { error: quietly, warn: quietly };
  const audit = createAudit({ ...folders, settings: () => settings, log });
  const id = randomUUID();
  const who = {
    correlation_id: id,
    principal: LOCAL,
    transport: "cli",
    agent_id: CLI_AGENT,
    session_id: id,
    model: "none",
  };
  try {
    await audit.ready();
    for (const granted of grants) audit.record({ kind: "grant", ...who, granted, scope: "always" });
  } finally {
    await audit.close();
  }
};
