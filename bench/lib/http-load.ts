import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import autocannon from "autocannon";
import { TOKEN } from "./http-server.ts";
import { percentile } from "./stats.ts";

export interface Target {
  readonly path: string;
  /** A body makes it a POST. */
  readonly body?: unknown;
}

interface Plan {
  readonly connections: number;
  readonly amount: number;
}

interface PacedPlan {
  readonly connections: number;
  /** Requests a second over all connections, evenly spaced. */
  readonly rate: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly answered: number;
  /** Answers that were no success, and requests that got none. */
  readonly failed: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

export const HEADERS = { "content-type": "application/json", "x-llmc-token": TOKEN };

export const tool = (name: string, args: object = {}): Target => ({
  path: "/tool",
  body: { session_id: "bench", name, args },
});

/** Sends requests on keep-alive connections, each when the one before it was answered. */
export const load = (url: string, { path, body }: Target, plan: Plan): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const timesMs: number[] = [];
    const startedAt = performance.now();
    const run = autocannon(
      {
        url: `${url}${path}`,
        connections: plan.connections,
        headers: HEADERS,
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
        amount: plan.amount,
      },
      (error, result) => {
        if (error) return reject(error);
        resolve({
          answered: result["2xx"],
          failed: result.non2xx + result.errors + result.timeouts,
          // Its own duration is in whole samples.
          perSecond: result["2xx"] / ((endedAt - startedAt) / 1000),
          p50Ms: percentile(timesMs, 0.5),
          p95Ms: percentile(timesMs, 0.95),
          p99Ms: percentile(timesMs, 0.99),
        });
      },
    );
    let endedAt = startedAt;
    run.on("response", (_client, _status, _bytes, ms) => {
      endedAt = performance.now();
      timesMs.push(ms);
    });
  });

const send = (agent: Agent, url: string, { path, body }: Target): Promise<number> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    request(
      `${url}${path}`,
      {
        agent,
        method: text === undefined ? "GET" : "POST",
        headers: { ...HEADERS, ...(text === undefined ? {} : { "content-length": Buffer.byteLength(text) }) },
      },
      (response) => {
        response.resume();
        response.once("end", () => resolve(response.statusCode ?? 0));
      },
    )
      .once("error", reject)
      .end(text);
  });

/**
 * Sends requests at a steady pace, whether or not the ones before were answered. (Load generators that pace each connection by itself let all of them send in the same moment, once a second.)
 */
export const loadPaced = async (url: string, target: Target, plan: PacedPlan): Promise<LoadResult> => {
  // The free connection that has waited longest is next: all of them are used.
  const agent = new Agent({ keepAlive: true, maxSockets: plan.connections, scheduling: "fifo" });
  await Promise.all(Array.from({ length: plan.connections }, () => send(agent, url, target)));
  const timesMs: number[] = [];
  const statuses: Promise<number>[] = [];
  const startedAt = performance.now();
  for (let i = 0; i < plan.rate * plan.seconds; i++) {
    const dueAt = startedAt + (i * 1000) / plan.rate;
    const early = dueAt - performance.now();
    if (early > 0) await sleep(early);
    // What this process itself was late by is not the server's.
    const sentAt = performance.now();
    statuses.push(
      send(agent, url, target).then(
        (status) => {
          timesMs.push(performance.now() - sentAt);
          return status;
        },
        () => 0,
      ),
    );
  }
  const all = await Promise.all(statuses);
  agent.destroy();
  const answered = all.filter((status) => status === 200).length;
  return {
    answered,
    failed: all.length - answered,
    perSecond: answered / ((performance.now() - startedAt) / 1000),
    p50Ms: percentile(timesMs, 0.5),
    p95Ms: percentile(timesMs, 0.95),
    p99Ms: percentile(timesMs, 0.99),
  };
};
