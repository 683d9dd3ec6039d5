import type { EnvelopeSettings } from "./settings.ts";

/** What ended a command that ran too long, and what gives it more time. */
const describeDeadline = (
  asked: number | undefined,
  { timeoutSeconds, timeoutKey, maxTimeoutSeconds }: EnvelopeSettings,
): string => {
  const wanted = asked ?? timeoutSeconds;
  if (wanted >= maxTimeoutSeconds)
    return `stopped after ${maxTimeoutSeconds} s, the limit of mcp.tools.max_exec_timeout, which the operator can raise`;
  const longer = `call again with timeout, up to ${maxTimeoutSeconds} s, for more`;
  return asked === undefined
    ? `stopped after ${wanted} s (${timeoutKey}); ${longer}`
    : `stopped after ${wanted} s, as asked; ${longer}`;
};

/** For one that asked for more time than there is, and did not need it. */
const describeLimit = (
  asked: number | undefined,
  { maxTimeoutSeconds }: EnvelopeSettings,
): string | undefined =>
  asked !== undefined && asked > maxTimeoutSeconds
    ? `timeout is at most ${maxTimeoutSeconds} s (mcp.tools.max_exec_timeout)`
    : undefined;

/** About the deadline of a command: what gives it more time, or why it had less than was asked for. */
export const deadlineNote = (
  timedOut: boolean,
  asked: number | undefined,
  settings: EnvelopeSettings,
): string | undefined => (timedOut ? describeDeadline(asked, settings) : describeLimit(asked, settings));
