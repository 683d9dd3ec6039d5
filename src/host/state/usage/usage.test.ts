import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../../../test/app.ts";
import { USER_STATE } from "../../../../test/user-state.ts";
import { createStateDb } from "../state-db.ts";
import { createUsage, type UsageRecord } from "./usage.ts";

const DAY_MS = 86_400_000;

const ROW: UsageRecord = {
  agent: "a",
  session: "s",
  owner: "s",
  budgetProfile: "",
  model: "m",
  command: "grep",
  lineHash: "0",
  line: null,
  output: null,
  mode: "enriched",
  exitCode: 0,
  errorCode: null,
  rawBytes: 400,
  shownBytes: 40,
  rawTokens: 100,
  shownTokens: 10,
  latencyMs: 5,
};

const open = (workspace = tempWorkspace(), retentionDays = 0) => {
  const clock = { now: Date.UTC(2026, 5, 15, 12) };
  const state = createStateDb({ workspace, userState: USER_STATE, onWarning: () => {} });
  onTestFinished(() => state.close());
  const usage = createUsage({ state, retentionDays: () => retentionDays, now: () => clock.now });
  return { workspace, clock, state, usage };
};

const runModule = (code: string): Promise<number | null> => {
  const child = spawn(process.execPath, [
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
    "-e",
    code,
  ]);
  return new Promise((resolve) => child.once("close", resolve));
};

const url = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const worker = (workspace: string, body: string): Promise<number | null> =>
  runModule(`
    import { createStateDb } from ${JSON.stringify(url("../state-db.ts"))};
    import { createUsage } from ${JSON.stringify(url("./usage.ts"))};
    const state = createStateDb({ workspace: ${JSON.stringify(workspace)}, userState: ${JSON.stringify(USER_STATE)}, onWarning: () => {} });
    const usage = createUsage({ state, retentionDays: () => 0, now: () => Date.now() });
    const row = ${JSON.stringify(ROW)};
    ${body}
  `);

describe("usage", () => {
  test("REQ-X5: says who spent what, by agent, command, session and day, and what was saved", async () => {
    const { usage, clock } = open();
    await usage.record(ROW, undefined);
    await usage.record({ ...ROW, agent: "b", command: "git log", exitCode: 1, shownTokens: 90 }, undefined);
    clock.now += DAY_MS;
    await usage.record({ ...ROW, session: "u", owner: "t", rawTokens: null, shownTokens: null }, undefined);
    const all = usage.summary({});
    expect(all.total).toEqual({
      name: "total",
      calls: 3,
      failed: 1,
      rawTokens: 200,
      shownTokens: 100,
      latencyMs: 15,
    });
    expect(all.agents.map(({ name, calls }) => [name, calls])).toEqual([
      ["b / m", 1],
      ["a / m", 2],
    ]);
    expect(all.commands.map(({ name }) => name)).toEqual(["git log", "grep"]);
    expect(all.days.map(({ name }) => name)).toEqual(["2026-06-15", "2026-06-16"]);
    expect(usage.summary({ owner: "t" }).total.calls).toBe(1);
    expect(usage.summary({ session: "u" }).total.calls).toBe(1);
    expect(usage.summary({ session: "u", owner: "s" }).total.calls).toBe(0);
    expect(usage.summary({ days: 1 }).total.calls).toBe(3);
    clock.now += 1;
    expect(usage.summary({ days: 1 }).total.calls).toBe(1);
  });

  test("looking alone makes no database", () => {
    const { usage, state } = open();
    expect(usage.summary({}).total.calls).toBe(0);
    expect(state.exists()).toBe(false);
  });

  test("REQ-X5: what is older than the retention goes; 0 keeps all", async () => {
    for (const [days, left] of [
      [30, 64],
      [0, 128],
    ] as const) {
      const { usage, clock } = open(tempWorkspace(), days);
      for (let i = 0; i < 64; i++) await usage.record(ROW, undefined);
      clock.now += 31 * DAY_MS;
      for (let i = 0; i < 64; i++) await usage.record(ROW, undefined);
      expect(usage.summary({}).total.calls).toBe(left);
    }
  });

  test("REQ-X8: a budget is spent by what was shown, and what is reserved is returned", async () => {
    const { usage } = open();
    expect(await usage.reserve("s", 100, () => 60)).toEqual({ granted: 60, left: 100 });
    expect(await usage.reserve("s", 100, () => 60)).toEqual({ granted: 40, left: 40 });
    expect(await usage.reserve("s", 100, () => 60)).toEqual({ granted: 0, left: 0 });
    expect(await usage.reserve("other", 100, () => 60)).toEqual({ granted: 60, left: 100 });
    await usage.record({ ...ROW, shownTokens: 10 }, 60);
    await usage.record({ ...ROW, shownTokens: 10 }, 40);
    expect((await usage.reserve("s", 100, () => 1)).left).toBe(80);
  });

  test("REQ-X5 REQ-X8: many processes at once lose no record and pass no cap", async () => {
    const { workspace, usage } = open();
    const body = `for (let i = 0; i < 40; i++) {
      const { granted } = await usage.reserve("s", 1000, () => 10);
      await usage.record({ ...row, shownTokens: granted }, granted);
    }`;
    expect(await Promise.all([1, 2, 3, 4].map(() => worker(workspace, body)))).toEqual([0, 0, 0, 0]);
    const { total } = usage.summary({});
    expect(total.calls).toBe(160);
    expect(total.shownTokens).toBe(1000);
    expect((await usage.reserve("s", 1000, () => 10)).granted).toBe(0);
  });

  test("FAIL-D7 REQ-X5: a process that is killed while it writes leaves a good database", async () => {
    const { workspace, usage, state } = open();
    // The kill comes from a transaction's midst: the row is written and not yet kept.
    const body = `for (let i = 0; i < 50; i++) await usage.record(row, undefined);
      await usage.record({ ...row, get latencyMs() { process.kill(process.pid, "SIGKILL"); return 1; } }, undefined);`;
    await Promise.all([1, 2, 3].map(() => worker(workspace, body)));
    expect(state.db().prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    const before = usage.summary({}).total.calls;
    expect(before).toBe(150);
    await usage.record(ROW, undefined);
    expect(usage.summary({}).total.calls).toBe(before + 1);
  });
});
