import type { BreakerState } from "../base/circuit-breaker.ts";
import { LlmcError, toLlmcError } from "../base/error.ts";
import type { HealthCheck, HealthReport } from "../tools/tool.ts";

/** A check of something that the server depends on; the wiring provides those of the machine. */
export interface HealthProbe {
  readonly name: string;
  /** Throws if it is unwell; returns a detail for people, and whether it works worse than it should. */
  check(): Promise<string | { readonly degraded: string }>;
}

/** Calls that run and wait, and how many may run. */
export interface Load {
  readonly running: number;
  readonly waiting: number;
  readonly maxRunning: number;
}

interface HealthParts {
  readonly probes: readonly HealthProbe[];
  readonly load: () => Load;
  readonly breakers: () => Readonly<Record<string, BreakerState>>;
  readonly now: () => number;
}

/** An answer takes at most 100 ms; a probe that hangs is unwell. */
const PROBE_MS = 80;

/** Everybody may ask for `/health`: a flood of questions is answered from the last report. */
const CACHED_MS = 1_000;

const late = (): LlmcError => new LlmcError("timeout", `No answer within ${PROBE_MS} ms.`);

const probe = async ({ name, check }: HealthProbe): Promise<HealthCheck> => {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), PROBE_MS);
  });
  try {
    const found = await Promise.race([check(), tooLate]);
    return typeof found === "string"
      ? { name, status: "ok", detail: found }
      : { name, status: "degraded", detail: found.degraded };
  } catch (thrown) {
    // What is not ours may name anything: it is never shown.
    return { name, status: "failed", detail: toLlmcError(thrown).message };
  } finally {
    clearTimeout(timer);
  }
};

/** Backends are named in words, for messages; checks by one word each. */
const checkName = (backend: string): string => backend.replace(/^the /, "").replaceAll(" ", "_");

/** A backend that fails is no reason to send clients elsewhere: everything else works. */
const breakerChecks = (breakers: Readonly<Record<string, BreakerState>>): readonly HealthCheck[] =>
  Object.entries(breakers).map(([backend, state]) => ({
    name: checkName(backend),
    status: state === "closed" ? "ok" : "degraded",
    detail: state === "closed" ? "" : `circuit breaker ${state}`,
  }));

/** Others are served in turn while one principal fills its queue: a full house is worse, and no reason to leave it. */
const loadCheck = ({ running, waiting, maxRunning }: Load): HealthCheck => {
  const detail = `${running} of ${maxRunning} calls running, ${waiting} waiting`;
  return { name: "limits", status: waiting > 0 ? "degraded" : "ok", detail };
};

const statusOf = (checks: readonly HealthCheck[]): HealthReport["status"] => {
  if (checks.some(({ status }) => status === "failed")) return "unhealthy";
  return checks.some(({ status }) => status === "degraded") ? "degraded" : "healthy";
};

/** Checks what the server depends on; the last report answers for a second. */
export const createHealth = ({ probes, load, breakers, now }: HealthParts) => {
  let last: { readonly at: number; readonly report: Promise<HealthReport> } | undefined;
  const check = async (): Promise<HealthReport> => {
    const checks = [
      ...(await Promise.all(probes.map(probe))),
      loadCheck(load()),
      ...breakerChecks(breakers()),
    ];
    return { status: statusOf(checks), checks };
  };
  return (): Promise<HealthReport> => {
    if (last === undefined || now() - last.at >= CACHED_MS) last = { at: now(), report: check() };
    return last.report;
  };
};
