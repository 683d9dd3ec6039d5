import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";
import { MODERN_META, textOf } from "../../test/server.ts";
import { ownState } from "../../test/user-state.ts";
import { createWorkspace } from "../../test/workspace.ts";
import type { EnvelopeDocument } from "../envelope/contract.ts";

const CLASSIC = '[mcp]\nmode = "classic"\n';
const BIG = { "big.txt": Array.from({ length: 5000 }, (_, i) => `line ${i} zebra`).join("\n") };

/** Whether the machine has such a program makes the difference. */
const REFUSED = ["forbidden", "file_not_found"];

type App = Awaited<ReturnType<typeof openTestApp>>;

const documentOf = async (app: App, args: unknown, tool = "te_run"): Promise<EnvelopeDocument> => {
  const result = await app.ask(tool, args);
  if (result.kind !== "ok") throw new Error(JSON.stringify(result));
  return (result.structured as { data: EnvelopeDocument }).data;
};

const open = (config = "", files: Readonly<Record<string, string>> = BIG) =>
  openTestApp({ config: `${CLASSIC}${config}`, files });

describe("te_run", () => {
  test("REQ-T2 REQ-D18: a limit that a command ran into is named to the model, as run_cmd names it", async () => {
    const app = await open('[mcp.tools]\nrun_cmd_allowlist = ["/bin/bash"]\ncommand_memory_mb = 64\n');
    const command = `bash -c 'x=$(head -c 100000000 /dev/zero | tr "\\0" a); echo done'`;
    for (const tool of ["te_run", "run_cmd"])
      expect(await app.text(tool, { command }), tool).toContain("over the memory limit");
  });

  test("REQ-T2 REQ-X4: runs a line or a list of words and answers with the envelope's document", async () => {
    const app = await open();
    const byLine = await documentOf(app, { command: "grep -c zebra big.txt" });
    const byArgs = await documentOf(app, { args: ["grep", "-c", "zebra", "big.txt"] });
    for (const document of [byLine, byArgs])
      expect(document).toMatchObject({
        success: true,
        command: "grep -c zebra big.txt",
        stdout: "5000\n",
        exit_code: 0,
        telemetry: { agent_id: "test" },
      });
    const spaced = await documentOf(app, { args: ["grep", "-n", "line 7 zebra", "big.txt"] });
    expect(spaced.stdout).toContain("line 7 zebra");
    expect(await app.text("te_run", { command: "grep nothing big.txt" })).toBe("[exit 1]");
  });

  test("REQ-X4: a flood is a summary with the true count and a handle that read_file takes", async () => {
    const app = await open();
    const { mode, enrichment } = await documentOf(app, { command: "grep zebra big.txt" });
    expect(mode).toBe("enriched");
    expect(enrichment).toMatchObject({ match_count: 5000, truncated: true });
    expect(enrichment.tokens_estimate).toBeLessThan(2100);
    const text = await app.text("te_run", { command: "grep zebra big.txt" });
    const handle = /\[cut; all: (handle:h_\w+)\]$/.exec(text)?.[1] ?? "";
    expect(await app.text("read_file", { path: handle, offset: 4999, limit: 1 })).toContain(
      "line 4999 zebra",
    );
  });

  test("REQ-X3 FAIL-C5: raw gives the output as it is, a page of it", async () => {
    const app = await open();
    const { mode, stdout, enrichment } = await documentOf(app, { command: "cat big.txt", raw: true });
    expect(mode).toBe("raw");
    expect(BIG["big.txt"].startsWith(stdout)).toBe(true);
    expect(enrichment.truncated).toBe(true);
    expect(enrichment.tokens_estimate).toBeLessThanOrEqual(2100);
    const handle = `handle:${enrichment.handle}`;
    expect(await app.text("read_file", { path: handle, offset: 4999, limit: 1 })).toContain(
      "line 4999 zebra",
    );
  });

  test("exactly one of command and args, and the field is named", async () => {
    const app = await open();
    for (const [args, field] of [
      [{}, "command"],
      [{ command: "ls", args: ["ls"] }, "args"],
    ] as const)
      expect(await app.ask("te_run", args)).toMatchObject({
        body: { meta: { error_code: "invalid_args", field } },
      });
    expect(await app.errorCode("te_run", { args: [] })).toBe("invalid_args");
    expect(await app.errorCode("te_run", { args: [""] })).toBe("invalid_args");
    expect(await app.errorCode("te_run", { args: ["ls", "a\0b"] })).toBe("invalid_args");
  });

  test("REQ-X9 FAIL-C6: the gate is the same, also behind te's own name", async () => {
    const app = await open("", { "a.txt": "", ".env": "KEY=1" });
    for (const args of [
      { args: ["sh", "-c", "id"] },
      { command: "te sh -c id" },
      { command: "te --raw --json sh -c id" },
      { command: "te te ls" },
      { command: "./te ls" },
      { command: "te find . -delete" },
    ])
      expect(REFUSED).toContain(await app.errorCode("te_run", args));
    expect(await app.errorCode("te_run", { command: "te cat .env" })).toBe("path_denied");
    expect(await app.errorCode("te_run", { command: "te ls", cwd: ".." })).toBe("path_denied");
    expect(existsSync(join(app.root, "a.txt"))).toBe(true);
  });

  test("REQ-X2: enable_run_cmd = false removes and refuses it", async () => {
    const app = await open("[mcp.tools]\nenable_run_cmd = false\n");
    expect(app.core.listTools().map(({ name }) => name)).not.toContain("te_run");
    expect(await app.errorCode("te_run", { command: "ls" })).toBe("unknown_tool");
  });
});

describe("a client's te", () => {
  test("REQ-X3 REQ-D17: te --handle, --list-handles, --stats and wrapped commands are served", async () => {
    const app = await open();
    const flood = await app.text("run_cmd", { command: "te grep -n zebra big.txt" });
    const id = /handle:(h_\w+)/.exec(flood)?.[1] ?? "";
    const page = await app.text("run_cmd", { command: `te --handle ${id}` });
    expect(page).toMatch(/^1:line 0 zebra\n2:/);
    expect(page).toMatch(new RegExp(`\\[more: te --handle ${id} --chunk 1\\]$`));
    expect(await app.text("te_run", { args: ["te", "--handle", `handle:${id}`, "--chunk", "1"] })).toContain(
      "zebra",
    );
    expect(await app.text("run_cmd", { command: "te --list-handles" })).toContain(id);
    expect(await app.text("run_cmd", { command: "te --stats" })).toMatch(/^1 command,[\s\S]*test \/ none/);
    expect(await app.text("run_cmd", { command: "te --help" })).toContain("te --handle ID");
    const json = JSON.parse(await app.text("run_cmd", { command: "te --json wc -l big.txt" }));
    expect(json).toMatchObject({ stdout: "4999 big.txt\n", exit_code: 0 });
    expect(await app.errorCode("run_cmd", { command: "te --handle h_nope" })).toBe("handle_not_found");
    expect(await app.errorCode("run_cmd", { command: "te --nope ls" })).toBe("invalid_args");
  });

  test("REQ-X8: a client cannot name itself another session to escape its cap", async () => {
    const app = await open("[mcp.te]\nsession_token_budget = 500\n");
    const codes: string[] = [];
    for (let i = 0; i < 8; i++) {
      const result = await app.ask("run_cmd", { command: `te --session new${i} --raw cat big.txt` });
      codes.push(result.kind === "error" ? result.body.meta.error_code : result.kind);
    }
    expect(codes[0]).toBe("ok");
    expect(codes.at(-1)).toBe("budget_exceeded");
    expect(await app.text("read_file", { path: "big.txt", limit: 1 })).toContain("line 0");
  });

  test("REQ-X7: switched off, te is a program like any other, and commands run directly", async () => {
    const app = await open("[mcp.te]\nenabled = false\n");
    expect(REFUSED).toContain(await app.errorCode("run_cmd", { command: "te ls" }));
    const { mode, enrichment } = await documentOf(app, { command: "cat big.txt" });
    expect([mode, enrichment.match_count]).toEqual(["passthrough", null]);
    expect((await (await app.engines()).usage.summary({})).total.calls).toBe(0);
  });

  test("FAIL-D7 REQ-X7: a state that cannot be written is logged once and costs nobody their output", async () => {
    // What must be recorded is refused where it cannot be: this is about everything else that is kept.
    const app = await open("[mcp.audit]\nenabled = false\n");
    rmSync(join(app.root, ".llmc"), { recursive: true, force: true });
    writeFileSync(join(app.root, ".llmc"), "no folder");
    for (let i = 0; i < 2; i++)
      expect(await app.text("run_cmd", { command: "cat big.txt" })).toMatch(/^line 0 zebra\nline 1 zebra/);
    expect((await app.logs()).match(/"what":"telemetry"/g)).toHaveLength(1);
    rmSync(join(app.root, ".llmc"));
    mkdirSync(join(app.root, ".llmc"));
    await app.text("run_cmd", { command: "ls" });
    expect((await app.engines()).usage.summary({}).total.calls).toBe(1);
  });

  test("REQ-O1: commands are counted by mode", async () => {
    const app = await open();
    const scrape = await app.metrics.servePrometheus();
    await app.text("run_cmd", { command: "grep zebra big.txt" });
    expect((await scrape()).body).toContain('llmc_te_duration_seconds_count{mode="enriched"} 1');
  });
});

describe("who calls", () => {
  test("REQ-X6 REQ-O3: the budget profile comes from _meta, else from the configuration, and reaches budget, telemetry, log and CSV", async () => {
    await using workspace = await createWorkspace({
      "llmc.toml": `${CLASSIC}[mcp.tools]\nrun_cmd_allowlist = ["ls"]\n[mcp.session]\ndefault_budget_profile = "M5-default"\n[mcp.te]\nbudget_profiles = ["M5-debug 300"]\n[mcp.observability]\ncsv_token_audit_enabled = true\n`,
    });
    const server = await workspace.serve();
    await server.call("run_cmd", { command: "ls" });
    const { result } = await server.request("tools/call", {
      name: "te_run",
      arguments: { command: "ls" },
      _meta: { ...MODERN_META, "llmc/budget_profile": "M5-debug" },
    });
    const { data } = (result as unknown as { structuredContent: { data: EnvelopeDocument } })
      .structuredContent;
    const left = data.telemetry.budget_remaining;
    expect(left).toBeLessThan(300);
    await server.stop();
    expect(server.stderr).toContain('"budget_profile":"M5-debug"');
    const state = new DatabaseSync(ownState(workspace.root, "state.db"), { readOnly: true });
    expect(state.prepare("SELECT budget_profile FROM te_calls ORDER BY id").all()).toEqual([
      { budget_profile: "M5-default" },
      { budget_profile: "M5-debug" },
    ]);
    state.close();
    const csv = readFileSync(join(workspace.root, "artifacts/token_audit.csv"), "utf8").trim().split("\n");
    expect(csv.map((line) => line.split(",").at(-1))).toEqual(["budget_profile", "M5-default", "M5-debug"]);
  });

  test("REQ-X6: agent, session and model come from the transport, and reach the command and the telemetry", async () => {
    await using workspace = await createWorkspace({
      "llmc.toml": `${CLASSIC}[mcp.tools]\nrun_cmd_allowlist = ["env", "ls"]\ncommand_powers = ["env:run"]\n`,
    });
    const server = await workspace.serve();
    const seen = textOf(await server.call("run_cmd", { command: "env" }));
    expect(seen).toContain("TE_AGENT_ID=llmc-test");
    expect(seen).toContain("TE_MODEL=unknown");
    const session = /TE_SESSION_ID=(\S+)/.exec(seen)?.[1] ?? "";
    expect(session).not.toBe("");
    const flagged = textOf(
      await server.call("run_cmd", { command: "te --session x --agent y --model m env" }),
    );
    for (const line of ["TE_AGENT_ID=llmc-test", `TE_SESSION_ID=${session}`, "TE_MODEL=m"])
      expect(flagged.split("\n")).toContain(line);
    const meta = { "llmc/agent_id": "a\u001bb", "llmc/session_id": "s-1", "llmc/model": "big-1" };
    const { result } = await server.request("tools/call", {
      name: "run_cmd",
      arguments: { command: "env" },
      _meta: { ...MODERN_META, ...meta },
    });
    const named = textOf(result as unknown as Parameters<typeof textOf>[0]);
    for (const line of ["TE_AGENT_ID=a?b", "TE_SESSION_ID=s-1", "TE_MODEL=big-1"])
      expect(named).toContain(line);
    const stats = textOf(await server.call("run_cmd", { command: "te --stats --json" }));
    expect(stats).toContain("llmc-test / unknown");
    expect(stats).not.toContain("a?b");
  });
});
