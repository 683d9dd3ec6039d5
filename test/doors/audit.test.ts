import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { UNANSWERED } from "../../src/core/contract.ts";
import { verifyAudit } from "../../src/host/audit/verify.ts";
import { openTestApp, TEST_CALLER } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { USER_STATE } from "../user-state.ts";
import { cleanEnv, createWorkspace } from "../workspace.ts";

type Row = Readonly<Record<string, unknown>>;

/** Reads are recorded up to 20 ms after their answers. */
const settled = (): Promise<void> => sleep(60);

const rowsOf = async (root: string): Promise<readonly Row[]> => {
  await settled();
  const folder = join(root, ".llmc/audit");
  return readdirSync(folder)
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line) as Row);
};

const verify = async (workspace: string) => {
  await settled();
  return verifyAudit({ workspace, userState: USER_STATE });
};

const CLASSIC = '[mcp]\nmode = "classic"\n';

describe("REQ-O5 what is recorded", () => {
  it("nothing is made before the first call; then who, what, where, how much, how long, and who decided", async () => {
    const app = await openTestApp({ config: CLASSIC, files: { "a.txt": "hello\n" } });
    expect(readdirSync(app.root)).not.toContain(".llmc");
    await app.text("read_file", { path: "a.txt" });
    const [open, call] = await rowsOf(app.root);
    expect(open).toMatchObject({ kind: "open", seq: 1, pid: process.pid });
    expect(call).toMatchObject({
      kind: "call",
      principal: "local",
      transport: "cli",
      agent_id: "test",
      session_id: "test-session",
      model: "none",
      tool: "read_file",
      effect: "read",
      decision: { allowed: true, policies: ["llmc.workspace"] },
      path: "a.txt",
      bytes_in: 16,
      bytes_out: 6,
      outcome: "ok",
    });
    expect(call?.["correlation_id"]).toMatch(/^[\w-]{36}$/);
    expect(call?.["duration_ms"]).toBeGreaterThan(0);
  });

  it("a change is recorded before it is begun, and its outcome after", async () => {
    const app = await openTestApp({ config: CLASSIC });
    await app.text("linux_fs_write", { path: "new.txt", content: "x" });
    await app.errorCode("linux_fs_write", { path: "../out.txt", content: "x" });
    const rows = (await rowsOf(app.root)).filter(({ tool }) => tool === "linux_fs_write");
    expect(rows.map(({ kind, about, outcome }) => [kind, about ?? outcome])).toEqual([
      ["decision", undefined],
      ["call", "ok"],
      ["decision", undefined],
      ["call", "path_denied"],
    ]);
    expect(rows[0]?.["correlation_id"]).toBe(rows[1]?.["correlation_id"]);
  });

  it("REQ-D25 a denial, an unknown tool and wrong arguments are recorded, with the door's principal", async () => {
    const app = await openTestApp({ config: CLASSIC });
    const caller = {
      ...TEST_CALLER,
      principal: "token:reader:0123",
      agentId: "root",
      may: new Set(["read"]),
    };
    await app.ask("linux_fs_write", { path: "a", content: "" }, { caller });
    await app.ask("no_such_tool", {}, { caller });
    await app.ask("read_file", { nope: 1 }, { caller });
    const calls = (await rowsOf(app.root)).slice(1);
    expect(calls.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ["linux_fs_write", "forbidden"],
      ["unknown", "unknown_tool"],
      ["read_file", "invalid_args"],
    ]);
    expect(calls[0]?.["decision"]).toEqual({ allowed: false, policies: ["llmc.scope.write"] });
    expect(calls[1]?.["decision"]).toBeNull();
    for (const { principal } of calls) expect(principal).toBe("token:reader:0123");
  });

  it("REQ-I5 programs that commands start, and how the user answered, are decisions of their own", async () => {
    const app = await openTestApp({ config: `${CLASSIC}[mcp.tools]\nrun_cmd_allowlist = ["ls"]\n` });
    await app.ask("run_cmd", { command: "ls" });
    const canAsk = (): boolean => true;
    const asked = await app.ask("run_cmd", { command: "wc /dev/null" }, { canAsk });
    if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
    const answers = { grant: { action: "accept", content: { grant: "never" } } };
    await app.ask("run_cmd", { command: "wc /dev/null" }, { canAsk, state: asked.state, answers });
    const programs = (await rowsOf(app.root)).filter(({ about }) => about === "program");
    expect(programs.map(({ kind, program, answer }) => [kind, program, answer])).toEqual([
      ["decision", "ls", undefined],
      ["question", "wc", "never"],
      ["decision", "wc", undefined],
    ]);
    for (const { tool, action, effect } of programs)
      expect([tool, action, effect]).toEqual(["run_cmd", "start_program", "execute"]);
    expect(programs[1]).toMatchObject({ decision: { allowed: false } });
    expect(programs[2]?.["decision"]).toMatchObject({ allowed: false });
  });

  it("REQ-I5 an answer is recorded and counted once, whatever becomes of its call", async () => {
    const app = await openTestApp({
      config: `${CLASSIC}[mcp.security]\npolicy_files = ["p/*.cedar"]\n`,
      files: { "p/a.cedar": 'forbid(principal == Principal::"x", action, resource);' },
    });
    const canAsk = (): boolean => true;
    const command = { command: "date +%%" };
    const ask = async () => {
      const asked = await app.ask("run_cmd", command, { canAsk });
      if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
      return asked.state;
    };
    const answers = { grant: { action: "accept", content: { grant: "once" } } };
    expect(await app.ask("run_cmd", command, { canAsk, state: await ask(), answers })).toMatchObject({
      kind: "ok",
    });
    const state = await ask();
    writeFileSync(join(app.root, "p/a.cedar"), 'forbid(principal, action, resource == Command::"date");');
    await app.policy.reload(app.core.actions);
    expect(await app.ask("run_cmd", command, { canAsk, state, answers })).toMatchObject({ kind: "error" });
    const about = (await rowsOf(app.root)).filter((row) => row["about"] === "program");
    expect(about.map(({ kind, program }) => [kind, program])).toEqual([
      ["question", "date"],
      ["decision", "date"],
      ["question", "date"],
      ["decision", "date"],
    ]);
    expect(about[1]?.["decision"]).toEqual({ allowed: true, policies: ["llmc.commands"] });
    expect(app.metrics.over(1, "llmc_questions").counters).toEqual({
      llmc_questions_asked_total: 2,
      'llmc_questions_total{answer="once"}': 2,
    });
  });

  it("REQ-I5 a question that nobody answers, or that is one too many, is counted; the first is recorded, too", async () => {
    const app = await openTestApp({
      config: CLASSIC,
      overrides: { "mcp.security.max_questions_per_minute": "1" },
    });
    const canAsk = (): boolean => true;
    const asked = await app.ask("run_cmd", { command: "date" }, { canAsk });
    if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
    const { state } = asked;
    expect(
      await app.ask("run_cmd", { command: "date" }, { canAsk, state, answers: { grant: UNANSWERED } }),
    ).toMatchObject({
      kind: "error",
      error: { hint: expect.stringMatching(/llmc allow.* The user was asked and did not answer/s) },
    });
    expect((await app.ask("run_cmd", { command: "arch" }, { canAsk })).kind).toBe("error");
    expect(
      (await rowsOf(app.root)).filter(({ kind }) => kind === "question").map(({ answer }) => answer),
    ).toEqual(["unanswered"]);
    expect(app.metrics.over(1, "llmc_questions").counters).toEqual({
      llmc_questions_asked_total: 1,
      llmc_questions_not_asked_total: 1,
      'llmc_questions_total{answer="unanswered"}': 1,
    });
  });

  it("FAIL-G7 no content, no values of arguments", async () => {
    const app = await openTestApp({ config: CLASSIC, files: { "a.txt": "marker-in-file\n" } });
    await app.text("read_file", { path: "a.txt" });
    await app.text("linux_fs_write", { path: "b.txt", content: "marker-in-argument" });
    await app.ask("linux_search_content", { query: "marker-in-query", root: "." });
    await app.ask("read_file", { path: "/marker-in-path/.env" });
    await app.ask("marker-in-name", {});
    expect(JSON.stringify(await rowsOf(app.root))).not.toContain("marker");
  });

  it("REQ-D16 no tool and no command reads or changes the records", async () => {
    const app = await openTestApp({
      config: `${CLASSIC}[mcp.tools]\nrun_cmd_allowlist = ["cat", "rm", "ls"]\n`,
      files: { "a.txt": "" },
    });
    await app.text("stat", { path: "a.txt" });
    const path = `.llmc/audit/${readdirSync(join(app.root, ".llmc/audit"))[0]}`;
    expect(await app.errorCode("read_file", { path })).toBe("path_denied");
    expect(await app.errorCode("list_dir", { path: ".llmc/audit" })).toBe("path_denied");
    expect(await app.errorCode("linux_fs_write", { path, content: "" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_fs_delete", { path: ".llmc/audit", recursive: true })).toBe(
      "INVALID_PATH",
    );
    for (const command of [`cat ${path}`, `rm -rf .llmc/audit`]) await app.ask("run_cmd", { command });
    expect((await verify(app.root)).problems).toEqual([]);
    expect(await app.text("list_dir", { path: "." })).not.toContain(".llmc");
  });

  it("resources, prompts and refused requests, too; switched off, nothing", async () => {
    const app = await openTestApp({ config: CLASSIC });
    const origin = { caller: TEST_CALLER, correlationId: "12345678" };
    await expect(app.core.readResource("nope://x", origin)).rejects.toThrow();
    expect((await rowsOf(app.root))[1]).toMatchObject({
      tool: "resources/read",
      outcome: "resource_not_found",
    });
    const off = await openTestApp({
      config: `${CLASSIC}[mcp.audit]\nenabled = false\n`,
      files: { "a.txt": "" },
    });
    await off.text("stat", { path: "a.txt" });
    expect(readdirSync(off.root)).not.toContain(".llmc");
  });
});

describe("REQ-O5 FAIL-D7 records that cannot be written", () => {
  const blocked = async (config = "") => {
    const app = await openTestApp({ config: `${CLASSIC}${config}`, files: { "a.txt": "hello\n" } });
    mkdirSync(join(app.root, ".llmc"), { mode: 0o700 });
    chmodSync(join(app.root, ".llmc"), 0o700);
    writeFileSync(join(app.root, ".llmc/audit"), "not a folder");
    return app;
  };

  it("stop every call, and the log says so once; when they can be, all goes on, with a record of the gap", async () => {
    const app = await blocked();
    expect(await app.errorCode("read_file", { path: "a.txt" })).toBe("audit_unavailable");
    expect(await app.errorCode("linux_fs_write", { path: "b.txt", content: "x" })).toBe("UNAVAILABLE");
    expect(readdirSync(app.root)).not.toContain("b.txt");
    expect((await app.logs()).match(/the audit trail cannot be written/g)).toHaveLength(1);
    rmSync(join(app.root, ".llmc/audit"));
    expect(await app.text("read_file", { path: "a.txt" })).toContain("hello");
    expect((await rowsOf(app.root)).map(({ kind }) => kind)).toEqual(["open", "gap", "call"]);
    expect((await rowsOf(app.root))[1]).toMatchObject({ missed: 3 });
  });

  it("stop changes alone where the operator lets reads go on", async () => {
    const app = await blocked("[mcp.audit]\nunaudited_reads = true\n");
    expect(await app.text("read_file", { path: "a.txt" })).toContain("hello");
    expect(await app.errorCode("linux_fs_write", { path: "b.txt", content: "x" })).toBe("UNAVAILABLE");
    expect(readdirSync(app.root)).not.toContain("b.txt");
  });
});

describe("REQ-O5 processes", () => {
  it("two servers at once have a chain each, and both verify", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello\n" });
    const servers = await Promise.all([workspace.start(), workspace.start()]);
    await Promise.all(
      servers.flatMap((server) =>
        Array.from({ length: 20 }, () => server.call("read_file", { path: "a.txt" })),
      ),
    );
    await expect.poll(() => verify(workspace.root)).toMatchObject({ ok: true, chains: 2, records: 42 });
    for (const server of servers) server.endInput();
    await Promise.all(servers.map((server) => server.exited));
    expect(await verify(workspace.root)).toMatchObject({ ok: true, chains: 2, records: 44 });
  });
});

describe("REQ-O5 te", () => {
  it("records the user's own commands by a digest, with their exit code", async () => {
    await using workspace = await createWorkspace({ "llmc.toml": CLASSIC });
    const te = fileURLToPath(new URL("../../bin/te", import.meta.url));
    const { status } = spawnSync(te, ["sh", "-c", "echo marker; exit 3"], {
      cwd: workspace.root,
      env: cleanEnv(),
    });
    expect(status).toBe(3);
    const rows = await rowsOf(workspace.root);
    expect(rows.map(({ kind }) => kind)).toEqual(["open", "decision", "call", "close"]);
    expect(rows[2]).toMatchObject({
      tool: "te",
      effect: "execute",
      outcome: "ok",
      exit_code: 3,
      transport: "cli",
    });
    expect(JSON.stringify(rows)).not.toContain("marker");
    expect((await verify(workspace.root)).problems).toEqual([]);
  });

  it("FAIL-D7 runs what cannot be recorded, and says so", async () => {
    await using workspace = await createWorkspace({ "llmc.toml": CLASSIC });
    mkdirSync(join(workspace.root, ".llmc"), { mode: 0o700 });
    writeFileSync(join(workspace.root, ".llmc/audit"), "not a folder");
    const te = fileURLToPath(new URL("../../bin/te", import.meta.url));
    const done = spawnSync(te, ["echo", "hello"], { cwd: workspace.root, env: cleanEnv(), encoding: "utf8" });
    expect(done).toMatchObject({ status: 0, stdout: "hello\n" });
    expect(done.stderr.match(/is not recorded/g)).toHaveLength(1);
  });
});

describe("REQ-O5 llmc audit", () => {
  const env = { XDG_STATE_HOME: process.env["XDG_STATE_HOME"] ?? "" };

  it("verifies, and names file, line and what was done", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello\n" });
    const { root } = workspace;
    const run = (...args: readonly string[]) => runLlmc(root, [...args, "--root", root], { env });
    expect(await run("audit", "verify")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ok: 0 records/),
    });
    for (const path of ["a.txt", "b.txt"]) await run("call", "read_file", "--args", JSON.stringify({ path }));
    expect(await run("audit", "verify")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ok: 6 records of 2 chains/),
    });
    const [name = ""] = readdirSync(join(root, ".llmc/audit"));
    const path = join(root, ".llmc/audit", name);
    writeFileSync(path, readFileSync(path, "utf8").replace("read_file", "reed_file"));
    const failed = await run("audit", "verify");
    expect(failed.code).toBe(1);
    expect(failed.out).toContain(`changed  .llmc/audit/${name}:2  `);
    const json = await run("audit", "verify", "--json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, problems: [{ line: 2, what: "changed" }] });
  });

  it("shows the last records by time, and filters", async () => {
    await using workspace = await createWorkspace({ "a.txt": "hello\n" });
    const { root } = workspace;
    const run = (...args: readonly string[]) => runLlmc(root, [...args, "--root", root], { env });
    expect((await run("audit", "show")).out).toBe("No records.\n");
    await run("call", "read_file", "--args", '{"path":"a.txt"}', "--agent", "=cmd()");
    await run("call", "read_file", "--args", '{"path":"missing"}');
    await run("call", "stat", "--args", '{"path":"a.txt"}');
    const rows = async (...flags: readonly string[]) =>
      (JSON.parse((await run("audit", "show", "--json", ...flags)).out) as readonly Row[]).map(
        ({ tool }) => tool,
      );
    expect(await rows("--tool", "stat")).toEqual(["stat"]);
    expect(await rows("--outcome", "file_not_found")).toEqual(["read_file"]);
    expect(await rows("--tool", "read_file", "--limit", "1")).toEqual(["read_file"]);
    expect(await rows("--since", "1h")).toHaveLength(9);
    expect(await rows("--since", "2099-01-01")).toEqual([]);
    expect((await run("audit", "show", "--since", "yesterday")).code).toBe(2);
    expect((await run("audit", "show", "--limit", "0")).code).toBe(2);
    expect((await run("audit", "show", "--tool", "stat")).out).toMatch(
      /^TIME .*\n.* call {2}stat {2}ok .* a\.txt\n$/,
    );
    const lines = (await run("audit", "export")).out.trimEnd().split("\n");
    expect(lines).toHaveLength(9);
    expect(lines.join("\n")).toBe((await rowsOf(root)).map((row) => JSON.stringify(row)).join("\n"));
    const csv = (await run("audit", "export", "--format", "csv", "--outcome", "ok")).out
      .trimEnd()
      .split("\n");
    expect(csv).toHaveLength(3);
    expect(csv[0]).toMatch(/^time,kind,correlation_id,principal,/);
    expect(csv[1]).toContain(",'=cmd(),");
  });
});
