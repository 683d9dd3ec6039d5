import { createCaches } from "../src/base/caches.ts";
import { actionOf, OTHER_ACTIONS, requestsFor, wholeSubject } from "../src/core/requests.ts";
import { loadCedar } from "../src/host/os/bundled-files.ts";
import { decideByDefault } from "../src/policy/cedar/default-decision.ts";
import { compilePolicies } from "../src/policy/cedar/engine.ts";
import type { PolicyAction, PolicyDecision, PolicyRequest } from "../src/policy/cedar/model.ts";
import type { Cedar } from "../src/policy/cedar/policy-file.ts";
import { allTools } from "../src/tools/all.ts";
import type { Benchmark } from "./lib/report.ts";

/** The optimising compiler has settled by then. */
const WARM_UP = 2000;
const TARGET_MS = 0.2;
const POLICIES = 10;

/** Everything that a server decides on: the schema has all of it. */
const actionsOf = async (): Promise<readonly PolicyAction[]> => {
  const tools = await Promise.all(allTools.map((entry) => entry.load()));
  return [...tools.map(actionOf), ...OTHER_ACTIONS];
};

const ACTION: PolicyAction = { name: "read_file", groups: ["read"], about: ["Workspace", "File"] };

/** As the authorizer makes it for a call; the session differs, so that no cache answers. */
const requestOf = (session: number): PolicyRequest => {
  const caller = {
    principal: "local",
    may: new Set(["read", "write", "execute", "egress"]),
    transport: "stdio",
    agentId: "agent",
    sessionId: String(session),
  } as const;
  const context = { mode: "hybrid", profile: "", air_gapped: false, granted: false };
  return requestsFor(wholeSubject(ACTION, "workspace"), caller, context)[0];
};

const measure = (decide: (request: PolicyRequest) => PolicyDecision, count: number, isSame: boolean) => {
  const times = new Float64Array(count);
  for (let i = -WARM_UP; i < count; i++) {
    const startedAt = performance.now();
    const { allowed } = decide(requestOf(isSame ? 0 : i));
    if (!allowed) throw new Error("not allowed");
    if (i >= 0) times[i] = performance.now() - startedAt;
  }
  times.sort();
  const at = (q: number): number => times[Math.floor((count - 1) * q)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
};

const compile = (actions: readonly PolicyAction[]): ((request: PolicyRequest) => PolicyDecision) => {
  const text = Array.from(
    { length: POLICIES },
    (_, at) =>
      `forbid(principal == Principal::"p${at}", action in Action::"read", resource) when { context.mode == "classic" };`,
  ).join("\n");
  const result = compilePolicies(() => loadCedar() as Cedar, {
    actions,
    files: [{ name: "bench.cedar", text, mayPermit: true }],
    defaultDeny: true,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.compiled.decide;
};

export const policy: Benchmark = {
  name: "policy",
  summary: "one decision on a call: by the defaults, by Cedar with ten policies, and from the cache",
  run: async ({ quick }) => {
    const count = quick ? 2000 : 20_000;
    const byCedar = compile(await actionsOf());
    const cache = createCaches({ maxBytes: () => 1e8, now: () => 0 }).open<PolicyDecision>("bench", 60_000);
    const cached = (request: PolicyRequest): PolicyDecision =>
      cache.get(JSON.stringify(request), () => byCedar(request));
    const measured = {
      defaults: measure((request) => decideByDefault(request, false), count, false),
      cedar: measure(byCedar, count, false),
      cached: measure(cached, count, true),
    };
    const worst = Math.max(...Object.values(measured).map(({ p95 }) => p95));
    return {
      tables: [
        {
          head: ["decision", "p50 ms", "p95 ms", "p99 ms"],
          rows: Object.entries(measured).map(([name, { p50, p95, p99 }]) => [
            name,
            ...[p50, p95, p99].map((ms) => ms.toFixed(4)),
          ]),
        },
      ],
      notes: [
        `at most ${worst.toFixed(4)} ms at p95, target < ${TARGET_MS}: ${worst < TARGET_MS ? "met" : "MISSED"}`,
      ],
      figures: { target_ms: TARGET_MS, decisions: measured },
    };
  },
};
