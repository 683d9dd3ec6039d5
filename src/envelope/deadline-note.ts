import type { EnvelopeSettings } from "./settings.ts";

/** What ended a command that ran too long, and what gives it more time. */
export const deadlineNote = (
  asked: number | undefined,
  { enabled, timeoutSeconds, maxTimeoutSeconds }: EnvelopeSettings,
): string => {
  const wanted = asked ?? (enabled ? timeoutSeconds : maxTimeoutSeconds);
  if (wanted >= maxTimeoutSeconds)
    return `stopped after ${maxTimeoutSeconds} s, the limit of mcp.tools.exec_timeout, which the operator can raise`;
  const longer = `timeout may be up to ${maxTimeoutSeconds} (mcp.tools.exec_timeout)`;
  return asked === undefined
    ? `stopped after ${wanted} s (mcp.te.timeout); ${longer}`
    : `stopped after ${wanted} s, as asked; ${longer}`;
};
