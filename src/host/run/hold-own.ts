import { type JudgedCommand, StaleJudgement } from "./contract.ts";
import { holdRepositories } from "./git/repository-lease.ts";

/** About the time that passes between judging a command and its start anyway. */
const MAX_STALE_MS = 100;

/** Git that may write has its repository for itself; the time that it waits for that is its own. */
export const holdOwn = async (
  commands: readonly JudgedCommand[],
  signal: AbortSignal | undefined,
): Promise<{ readonly ready: readonly JudgedCommand[]; readonly release: () => void }> => {
  const own = commands.flatMap(({ ownRepository }) => ownRepository ?? []);
  const since = performance.now();
  const release = await holdRepositories(
    own,
    Math.max(...commands.map(({ request }) => request.timeoutMs)),
    signal,
  );
  const waitedMs = own.length === 0 ? 0 : performance.now() - since;
  if (waitedMs > MAX_STALE_MS) {
    release();
    throw new StaleJudgement();
  }
  const ready = commands.map((command) => {
    const timeoutMs = Math.max(1, command.request.timeoutMs - waitedMs);
    return { ...command, request: { ...command.request, timeoutMs } };
  });
  return { ready, release };
};
