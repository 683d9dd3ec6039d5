import { randomUUID } from "node:crypto";
import { CLI_AGENT } from "../cli/call-command.ts";
import { LOCAL } from "../core/contract.ts";
import type { AuditSettings } from "../host/audit/settings.ts";
import type { AuditEntry } from "../observe/audit/entry.ts";
import { createAudit } from "./audit-wiring.ts";

const quietly = (): void => {};

interface GrantParts {
  readonly root: string;
  readonly userState: string;
  readonly settings: AuditSettings;
}

/** What the operator allows for good, or no longer allows. */
type Grant = Pick<Extract<AuditEntry, { readonly kind: "grant" }>, "granted" | "scope">;

/** Records what the operator is about to do. Throws where that fails: what cannot be recorded is not allowed. */
export const recordGrants = async (
  { settings, ...folders }: GrantParts,
  grants: readonly Grant[],
): Promise<void> => {
  if (grants.length === 0) return;
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
    for (const grant of grants) audit.record({ kind: "grant", ...who, ...grant });
  } finally {
    await audit.close();
  }
};
