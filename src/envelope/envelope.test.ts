import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../test/app.ts";
import { argvOf } from "../../test/argv-of.ts";
import { ownState, USER_STATE } from "../../test/user-state.ts";
import { LlmcError } from "../base/error.ts";
import { buildConfig } from "../config/sections.ts";
import { runDirect } from "../host/run/direct.ts";
import { NOTHING_QUARANTINED } from "../host/run/scan/quarantined.ts";
import { createStateDb } from "../host/state/state-db.ts";
import { createUsage } from "../host/state/usage/usage.ts";
import { quoteArgv } from "./command-label.ts";
import { createEnvelope, type EnvelopeParts } from "./envelope.ts";
import { envelopeSettings, type TeValues } from "./settings.ts";

const SESSION = {
  agentId: "agent",
  sessionId: "session",
  model: "model",
  principal: "local",
  owner: "owner",
  may: new Set<string>(),
};

/** A library over real processes and a real database; what lies behind handles is held here. */
const open = (values: Partial<TeValues> = {}, parts: Partial<EnvelopeParts> = {}) => {
  const workspace = tempWorkspace();
  const state = createStateDb({ workspace, userState: USER_STATE, onWarning: () => {} });
  onTestFinished(() => state.close());
  const usage = createUsage({ state, retentionDays: () => 0, now: () => Date.now() });
  const kept: string[][] = [];
  const failures: string[] = [];
  const envelope = createEnvelope({
    launch: async ({ command, onOutput }) => {
      const argv = await argvOf(typeof command === "string" ? command : quoteArgv(command));
      const outcome = await runDirect({
        argv,
        cwd: process.cwd(),
        env: { PATH: "/usr/bin:/bin" },
        stdin: 0,
        stdout: process.stdout,
        stderr: process.stderr,
        onOutput,
      });
      return {
        ...outcome,
        timedOut: false,
        tier: null,
        quarantined: NOTHING_QUARANTINED,
        programs: [],
        sole: argv,
      };
    },
    handles: {
      put: async (_owner, _kind, _source, lines) => `h_${kept.push([...(lines as Iterable<string>)])}`,
    },
    usage,
    settings: () =>
      envelopeSettings({ ...buildConfig(new Map()).mcp.te, ...values }, 64, {
        timeoutSeconds: 60,
        maxTimeoutSeconds: 60,
        hasNetwork: false,
      }),
    onFailure: (what) => failures.push(what),
    ...parts,
  });
  const rows = () => state.sql("SELECT * FROM te_calls ORDER BY id").all();
  return { workspace, envelope, usage, kept, failures, rows };
};

const unwritable = async (): Promise<never> => {
  throw new LlmcError("unavailable", "the state cannot be written");
};

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof LlmcError ? error.code : String(error)),
  );

const FLOOD = ["sh", "-c", "seq 1 50000; echo oops >&2; exit 3"];

describe("the envelope", () => {
  test("REQ-X3 REQ-X4: answers with the documented keys in their order", async () => {
    const { envelope } = open();
    const { document } = await envelope.run({ command: "echo 'a  b'" }, SESSION);
    expect(JSON.stringify(document)).toMatch(
      /^\{"success":true,"mode":"passthrough","command":"echo 'a {2}b'","stdout":"a {2}b\\n","stderr":"","exit_code":0,"enrichment":\{"match_count":null,"truncated":false,"handle":null,"tokens_estimate":\d+\},"telemetry":\{"latency_ms":[\d.]+,"agent_id":"agent","budget_remaining":9\d+\}\}$/,
    );
  });

  test("REQ-X4: a long output is a page, with all of it behind a handle and its end in sight", async () => {
    const { envelope, kept, rows } = open();
    const { document } = await envelope.run({ command: FLOOD }, SESSION);
    expect(document).toMatchObject({ success: false, exit_code: 3, stderr: "oops\n" });
    expect(document.enrichment).toMatchObject({ truncated: true, handle: "h_1" });
    expect(document.enrichment.tokens_estimate).toBeLessThanOrEqual(2100);
    expect(document.stdout).toContain("50000");
    expect(kept[0]?.slice(0, 2)).toEqual(["1", "2"]);
    expect(kept[0]?.slice(-3)).toEqual(["50000", "[stderr]", "oops"]);
    expect(rows()[0]).toMatchObject({ agent: "agent", session: "session", model: "model", exit_code: 3 });
    expect(Number(rows()[0]?.["raw_tokens"])).toBeGreaterThan(50_000);
  });

  test.each(["cat", "tail -n +2"])(
    "REQ-X4: %s of a file of any length shows how the file ends",
    async (program) => {
      const { envelope, workspace } = open();
      const log = join(workspace, "server.log");
      writeFileSync(log, Array.from({ length: 80_000 }, (_, i) => `${i} GET /items\n`).join(""));
      const { document } = await envelope.run({ command: `${program} ${log}` }, SESSION);
      expect(document.stdout).toMatch(/^\[at least \d+ lines\]\n/);
      expect(document.stdout).toMatch(/\n79999 GET \/items\n$/);
      expect(document.stdout).not.toContain("\n49999 GET");
    },
  );

  test("REQ-X4: lines that were asked for by number come without gaps, in an answer of twice the length", async () => {
    const { envelope, workspace, kept } = open();
    const log = join(workspace, "server.log");
    writeFileSync(
      log,
      Array.from({ length: 9000 }, (_, i) => `${i} GET /items/${i * 7} 200 took ${i % 90} ms\n`).join(""),
    );
    const asked = await envelope.run({ command: `tail -n 200 ${log}` }, SESSION);
    expect(asked.document.enrichment).toMatchObject({ truncated: false, handle: null });
    expect(asked.document.enrichment.tokens_estimate).toBeGreaterThan(2000);
    expect(asked.document.stdout).toBe(readFileSync(log, "utf8").split("\n").slice(-201).join("\n"));
    const tooMany = await envelope.run({ command: `tail -n 2000 ${log}` }, SESSION);
    expect(tooMany.document.enrichment).toMatchObject({ truncated: true, handle: "h_1" });
    expect(tooMany.document.enrichment.tokens_estimate).toBeLessThanOrEqual(4100);
    expect(kept[0]).toHaveLength(2000);
    const openEnded = await envelope.run({ command: `tail -n +2 ${log}` }, SESSION);
    expect(openEnded.document.enrichment.tokens_estimate).toBeLessThanOrEqual(2100);
  });

  test("REQ-X3 FAIL-C5: raw is the output as it is, a page of it, with a handle for the rest", async () => {
    const { envelope, rows, kept } = open();
    const { document, output } = await envelope.run({ command: ["seq", "1", "5000"], raw: true }, SESSION);
    expect(document.mode).toBe("raw");
    expect(document.stdout).toMatch(/^1\n2\n3\n[\d\n]+\n$/);
    expect(document.enrichment).toMatchObject({ truncated: true, handle: "h_1" });
    expect(document.enrichment.tokens_estimate).toBeLessThanOrEqual(2100);
    expect(output).toEqual({ stdout: document.stdout, stderr: "", truncated: true });
    expect(kept[0]).toHaveLength(5000);
    expect(rows()[0]).toMatchObject({ mode: "raw", command: "seq" });
  });

  test("REQ-X7: switched off, nothing is summarized, recorded or capped", async () => {
    const { envelope, rows, kept } = open({ enabled: false, session_token_budget: 10 });
    const { document } = await envelope.run({ command: FLOOD }, SESSION);
    expect(document.mode).toBe("passthrough");
    expect(document.stdout).toMatch(/^1\n2\n3\n[\d\n]+$/);
    expect(document.telemetry.budget_remaining).toBeNull();
    expect(kept).toHaveLength(1);
    expect(rows()).toEqual([]);
  });

  test("REQ-X7 FAIL-D7: where the envelope's own part fails, the plain output comes through, or the error does", async () => {
    const broken = {
      handles: { put: unwritable },
      usage: { reserve: unwritable, record: unwritable, release: unwritable },
    };
    const { envelope, failures } = open({}, broken);
    const { document } = await envelope.run({ command: FLOOD }, SESSION);
    expect(document.stdout).toMatch(/^1\n2\n3\n/);
    expect(document.stdout.length).toBeGreaterThan(80_000);
    expect(document).toMatchObject({ mode: "passthrough", exit_code: 3, enrichment: { handle: null } });
    expect(failures).toEqual(["budget", "handle", "telemetry"]);
    const strict = open({ passthrough_on_failure: false }, broken);
    expect(await codeOf(strict.envelope.run({ command: FLOOD }, SESSION))).toBe("unavailable");
  });

  test("REQ-X8: answers shrink near the cap, and at the cap there is a refusal with a way out", async () => {
    const { envelope, rows } = open({ session_token_budget: 6000 });
    const sizes: number[] = [];
    let refusal: unknown;
    for (let i = 0; i < 40 && refusal === undefined; i++) {
      await envelope.run({ command: FLOOD }, SESSION).then(
        ({ document }) => sizes.push(document.enrichment.tokens_estimate),
        (error: unknown) => {
          refusal = error;
        },
      );
    }
    expect(refusal).toMatchObject({
      code: "budget_exceeded",
      hint: expect.stringMatching(/handle.*afresh/),
    });
    expect(sizes.at(-1)).toBeLessThan((sizes[0] ?? 0) / 2);
    const spent = rows().reduce((sum, row) => sum + Number(row["shown_tokens"]), 0);
    expect(spent).toBeGreaterThan(4800);
    expect(spent).toBeLessThan(6600);
    const other = await envelope.run({ command: "echo x" }, { ...SESSION, owner: "new" });
    expect(other.document.stdout).toBe("x\n");
    const unowned = await envelope.run({ command: "echo x" }, { ...SESSION, owner: "" });
    expect(unowned.document.telemetry.budget_remaining).toBeNull();
  });

  test("REQ-X8: many at once do not pass the cap together", async () => {
    const { envelope, rows } = open({ session_token_budget: 5000 });
    const runs = Array.from({ length: 12 }, () => codeOf(envelope.run({ command: FLOOD }, SESSION)));
    expect((await Promise.all(runs)).filter((code) => code === "budget_exceeded").length).toBeGreaterThan(5);
    const spent = rows().reduce((sum, row) => sum + Number(row["shown_tokens"]), 0);
    expect(spent).toBeLessThan(5500);
  });

  test("REQ-X5: neither arguments nor output are in the database, unless asked for", async () => {
    const secret = "zebra-secret-4711";
    const { envelope, workspace, rows } = open();
    await envelope.run({ command: ["sh", "-c", `echo ${secret}; echo ${secret} >&2`] }, SESSION);
    await codeOf(envelope.run({ command: `no-such-program --key=${secret}`, cwd: secret }, SESSION));
    const bytes = ["state.db", "state.db-wal"]
      .map((name) => readFileSync(ownState(workspace, name), "latin1"))
      .join("");
    expect(bytes).toContain("te_calls");
    expect(bytes).not.toContain(secret);
    expect(rows()).toHaveLength(2);
    const asked = open({ log_commands: true, keep_output: true });
    await asked.envelope.run({ command: ["echo", secret] }, SESSION);
    expect(asked.rows()[0]).toMatchObject({ line: `echo ${secret}`, output: `${secret}\n` });
  });

  test("REQ-X5: a refused command is recorded with its code and spends nothing", async () => {
    const { envelope, rows } = open(
      { session_token_budget: 3000 },
      {
        launch: async () => {
          throw new LlmcError("forbidden", "no");
        },
      },
    );
    for (let i = 0; i < 5; i++)
      expect(await codeOf(envelope.run({ command: "curl x" }, SESSION))).toBe("forbidden");
    expect(rows()).toHaveLength(5);
    expect(rows()[0]).toMatchObject({
      command: "curl",
      error_code: "forbidden",
      exit_code: null,
      shown_tokens: 0,
    });
  });

  test("FAIL-C5: a flood passes by without growing the process", async () => {
    const { envelope, kept } = open(
      {},
      {
        handles: {
          put: async (_o, _k, _s, lines) => {
            let count = 0;
            for (const _line of lines as Iterable<string>) count++;
            kept.push([String(count)]);
            return "h_flood";
          },
        },
      },
    );
    const before = process.memoryUsage.rss();
    const { document } = await envelope.run(
      { command: ["sh", "-c", "yes zebra line | head -c 400000000"] },
      SESSION,
    );
    expect(process.memoryUsage.rss() - before).toBeLessThan(250 * 1024 * 1024);
    expect(document.enrichment).toMatchObject({ truncated: true, handle: "h_flood" });
    expect(document.stdout).toContain("zebra line");
    expect(Number(kept[0]?.[0])).toBeGreaterThan(4_000_000);
  });
});
