import { chmodSync, existsSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp, tempWorkspace } from "../../test/app.ts";
import type { CallResult } from "./call.ts";

const canAsk = (): boolean => true;

/** Asks as a client that can show questions, and answers them one after the other. */
const askAnswering = async (
  app: TestApp,
  tool: string,
  args: unknown,
  answers: readonly unknown[],
  caller = TEST_CALLER,
): Promise<{ readonly result: CallResult; readonly questions: readonly string[] }> => {
  const questions: string[] = [];
  let result = await app.ask(tool, args, { canAsk, caller });
  for (const answer of answers) {
    if (result.kind !== "questions") break;
    const { grant } = result.questions;
    questions.push(grant?.kind === "form" ? grant.message : "not a form");
    result = await app.ask(tool, args, { canAsk, caller, answers: { grant: answer }, state: result.state });
  }
  return { result, questions };
};

const accept = (grant?: string) => ({
  action: "accept",
  ...(grant === undefined ? {} : { content: { grant } }),
});

const DATE = { command: "date +%%" };
const SORT = { command: "sort -o out.txt in.txt" };

describe("REQ-I5: a program that only lacks consent is a question to the user", () => {
  it("once: this call runs, the next one asks again", async () => {
    const app = await openTestApp();
    const { result, questions } = await askAnswering(app, "run_cmd", DATE, [accept("once")]);
    expect(result).toMatchObject({ kind: "ok", structured: { data: { exit_code: 0 } } });
    expect(questions).toHaveLength(1);
    expect(questions[0]).toMatch(
      /^The agent wants to use run_cmd:\n {2}"command": "date \+%%"\n"date" is "\/\S+\/date", which is not/,
    );
    expect((await app.ask("run_cmd", DATE, { canAsk })).kind).toBe("questions");
  });

  it("REQ-X5 REQ-O2: a command that its user was asked about is one call, one command and one page of the budget", async () => {
    const app = await openTestApp({ overrides: { "mcp.te.session_token_budget": "6000" } });
    const { result } = await askAnswering(app, "run_cmd", DATE, [accept("once")]);
    if (result.kind !== "ok") throw new Error(JSON.stringify(result));
    const { meta } = result.structured as { meta: { budget_remaining: number; tokens_estimate: number } };
    expect(meta.budget_remaining).toBe(6000 - meta.tokens_estimate);
    const { usage } = await app.engines();
    expect(usage.summary({}).total).toMatchObject({ calls: 1, failed: 0 });
    expect(app.metrics.over(1, "llmc_calls").counters).toEqual({
      'llmc_calls_total{tool="run_cmd",code="ok"}': 1,
    });
    const logged = (await app.logs()).split("\n").filter((line) => line.includes('"tool":"run_cmd"'));
    expect(logged.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      "call asks its user",
      "call",
    ]);
  });

  it("accepted without content is once", async () => {
    const app = await openTestApp();
    expect((await askAnswering(app, "run_cmd", DATE, [accept()])).result.kind).toBe("ok");
    expect((await app.ask("run_cmd", DATE, { canAsk })).kind).toBe("questions");
  });

  it("session: further calls of the same owner run, those of others ask", async () => {
    const app = await openTestApp();
    await askAnswering(app, "run_cmd", DATE, [accept("session")]);
    expect((await app.ask("run_cmd", { command: "date -u +%%" })).kind).toBe("ok");
    const other = { ...TEST_CALLER, owner: "other" };
    expect((await app.ask("run_cmd", DATE, { canAsk, caller: other })).kind).toBe("questions");
  });

  it("never: refused, and not asked again in this session", async () => {
    const app = await openTestApp();
    const { result } = await askAnswering(app, "run_cmd", DATE, [accept("never")]);
    expect(result).toMatchObject({ kind: "error", error: { code: "forbidden" } });
    expect(await app.ask("run_cmd", DATE, { canAsk })).toMatchObject({
      kind: "error",
      error: { hint: expect.stringContaining("does not want to be asked again") },
    });
  });

  it.each([
    ["declined", { action: "decline" }],
    ["cancelled", { action: "cancel" }],
    ["not an answer", "yes"],
    ["an answer that was not offered", accept("always")],
    ["content of another form", { action: "accept", content: "never" }],
    ["a list", { action: "accept", content: ["never"] }],
    ["nothing", undefined],
  ])("%s: refused this time, with the command that the user can run instead", async (_what, answer) => {
    const app = await openTestApp();
    const { result } = await askAnswering(app, "run_cmd", DATE, [answer]);
    expect(result).toMatchObject({
      kind: "error",
      error: { code: "forbidden", hint: expect.stringContaining("llmc allow date") },
    });
    expect((await app.ask("run_cmd", DATE, { canAsk })).kind).toBe("questions");
  });

  it("a client that cannot ask gets the refusal, and so does one whose operator wants no questions", async () => {
    const app = await openTestApp({ overrides: { "mcp.security.escalation_prompts": "false" } });
    expect((await app.ask("run_cmd", DATE)).kind).toBe("error");
    expect((await app.ask("run_cmd", DATE, { canAsk })).kind).toBe("error");
  });

  it("over HTTP consent counts as long as the token has the scope admin, and no list shows what needs it", async () => {
    const app = await openTestApp({ overrides: { "mcp.mode": "classic" } });
    const operator = {
      ...TEST_CALLER,
      transport: "http" as const,
      may: new Set(["read", "execute", "admin"]),
    };
    expect((await askAnswering(app, "run_cmd", DATE, [accept("session")], operator)).result.kind).toBe("ok");
    expect((await app.ask("run_cmd", DATE, { caller: operator })).kind).toBe("ok");
    const reduced = { ...operator, may: new Set(["read", "execute"]) };
    expect((await app.ask("run_cmd", DATE, { canAsk, caller: reduced })).kind).toBe("error");
    const lists = (caller: typeof operator): boolean =>
      app.core.listTools(caller).some(({ name }) => name === "admin_get_status");
    expect([lists(operator), lists(reduced)]).toEqual([true, false]);
  });

  it("a power of an allowed program is asked for with its meaning", async () => {
    const app = await openTestApp({ files: { "in.txt": "b\na\n" } });
    const { result, questions } = await askAnswering(app, "run_cmd", SORT, [accept("once")]);
    expect(questions[0]).toContain("sort may change and delete files in the roots.");
    expect(result.kind).toBe("ok");
    expect(await app.text("read_file", { path: "out.txt" })).toContain("a\nb");
  });

  it("every program of a line is asked for before anything starts", async () => {
    const app = await openTestApp({ files: { "in.txt": "b\na\n" } });
    const line = { command: "sort -o out.txt in.txt && date +%%" };
    const { result, questions } = await askAnswering(app, "run_cmd", line, [accept(), { action: "decline" }]);
    expect(questions).toHaveLength(2);
    expect(result.kind).toBe("error");
    expect(await app.errorCode("read_file", { path: "out.txt" })).not.toBe("");
    expect((await askAnswering(app, "run_cmd", line, [accept(), accept()])).result.kind).toBe("ok");
  });

  it("linux_proc_start and te_run ask, too", async () => {
    const app = await openTestApp({ config: '[mcp]\nmode = "classic"\n' });
    for (const tool of ["linux_proc_start", "te_run"]) {
      const { result, questions } = await askAnswering(app, tool, { command: "date" }, [accept()]);
      expect(questions, tool).toEqual([expect.stringContaining(`The agent wants to use ${tool}:`)]);
      expect(result.kind, tool).toBe("ok");
    }
  });

  it("a listed program that only the user's shell finds is asked for", async () => {
    const app = await openTestApp({
      config: '[mcp.tools]\nrun_cmd_allowlist = ["greet", "absent"]\n',
      files: { ".venv/pyvenv.cfg": "", ".venv/bin/greet": "#!/bin/sh\necho hello\n" },
    });
    chmodSync(join(app.root, ".venv/bin/greet"), 0o755);
    const { result, questions } = await askAnswering(app, "run_cmd", { command: "greet" }, [accept()]);
    expect(questions).toEqual([expect.stringContaining(join(app.root, ".venv/bin/greet"))]);
    expect(result).toMatchObject({ kind: "ok", structured: { data: { stdout: "hello\n" } } });
    expect(await app.ask("run_cmd", { command: "absent" }, { canAsk })).toMatchObject({
      kind: "error",
      error: { code: "file_not_found", hint: expect.stringContaining("llmc allow absent") },
    });
  });

  it("a program that does not exist is refused like one that is not allowed", async () => {
    const app = await openTestApp();
    const result = await app.ask("run_cmd", { command: "no-such-program-at-all" }, { canAsk });
    expect(result).toMatchObject({ kind: "error", error: { code: "forbidden" } });
  });
});

describe("REQ-I5: an answer counts for the one call it was given to", () => {
  it("not for other arguments, another owner, another tool, nor twice", async () => {
    const app = await openTestApp({ config: '[mcp]\nmode = "classic"\n' });
    const first = await app.ask("run_cmd", DATE, { canAsk });
    if (first.kind !== "questions") throw new Error("no question");
    const answered = { canAsk, answers: { grant: accept("once") }, state: first.state };
    expect((await app.ask("run_cmd", { command: "date -s 1" }, answered)).kind).toBe("questions");
    const other = { ...TEST_CALLER, owner: "other" };
    expect((await app.ask("run_cmd", DATE, { ...answered, caller: other })).kind).toBe("questions");
    expect((await app.ask("te_run", DATE, answered)).kind).toBe("questions");
    expect((await app.ask("run_cmd", DATE, answered)).kind).toBe("ok");
    expect((await app.ask("run_cmd", DATE, answered)).kind).toBe("questions");
  });

  it("not without a question of ours", async () => {
    const app = await openTestApp();
    for (const state of [undefined, {}, { llmc_ticket: "made-up" }, "x"])
      expect(
        (await app.ask("run_cmd", DATE, { canAsk, answers: { grant: accept("session") }, state })).kind,
      ).toBe("questions");
    expect((await app.ask("run_cmd", DATE)).kind).toBe("error");
  });

  it("questions are bounded: 20 a minute, then the refusal", async () => {
    const app = await openTestApp();
    for (let at = 0; at < 20; at++)
      expect((await app.ask("run_cmd", { command: `date -d ${at}` }, { canAsk })).kind).toBe("questions");
    expect((await app.ask("run_cmd", DATE, { canAsk })).kind).toBe("error");
  });
});

describe("REQ-I5 REQ-D16: what nobody may grant is not asked for", () => {
  it.each([
    ["git config core.pager x", "forbidden"],
    ["cat .env", "path_denied"],
    ["cat llmc.toml > .git/config", "path_denied"],
  ])("%s", async (command, code) => {
    const app = await openTestApp({ files: { ".env": "A=1", "llmc.toml": "" } });
    const result = await app.ask("run_cmd", { command }, { canAsk });
    expect(result).toMatchObject({ kind: "error", error: { code } });
  });

  it("what needs a network that commands do not have, with the way to open it", async () => {
    const command = "git push origin main";
    const closed = await openTestApp();
    expect(await closed.ask("run_cmd", { command }, { canAsk })).toMatchObject({
      kind: "error",
      error: { code: "forbidden", hint: expect.stringContaining("allow_outbound_network = true") },
    });
    const open = await openTestApp({ overrides: { "mcp.tools.allow_outbound_network": "true" } });
    expect((await open.ask("run_cmd", { command }, { canAsk })).kind).toBe("questions");
  });

  it("over HTTP a token does not answer its own questions, unless it is the operator's", async () => {
    const app = await openTestApp();
    const http = { ...TEST_CALLER, transport: "http" as const };
    expect((await app.ask("run_cmd", DATE, { canAsk, caller: http })).kind).toBe("error");
    const caller = { ...http, may: new Set([...http.may, "admin"]) };
    expect((await app.ask("run_cmd", DATE, { canAsk, caller })).kind).toBe("questions");
  });

  it("a caller without the scope is refused", async () => {
    const app = await openTestApp();
    const caller = { ...TEST_CALLER, may: new Set(["read"]) };
    expect(await app.ask("run_cmd", DATE, { canAsk, caller })).toMatchObject({
      kind: "error",
      error: { message: 'This caller may not use run_cmd: it lacks the scope "execute".' },
    });
  });
});

describe("REQ-I5: no model phrases the question", () => {
  const questionFor = async (app: TestApp, command: string): Promise<string> => {
    const result = await app.ask("run_cmd", { command }, { canAsk });
    if (result.kind !== "questions" || result.questions["grant"]?.kind !== "form")
      throw new Error(`no question: ${JSON.stringify(result)}`);
    return result.questions["grant"].message;
  };

  it("the whole call is shown: every program, here-documents, folders and redirections", async () => {
    const app = await openTestApp({ files: { "sub/x": "" } });
    const line = "cd sub && date -u; date -s evil | sort > out <<'END'\nrm -rf\nEND";
    const shown = await questionFor(app, line);
    expect(shown).toContain(`  "command": ${JSON.stringify(line)}\n`);
    expect(shown).toContain('"session" is "date" with any arguments');
    expect(shown).toMatch(/For good: llmc allow \/\S+\/date\.$/);
    const power = await questionFor(app, "git commit -m x");
    expect(power).toContain("\nAllow this command?\n");
    expect(power).toMatch(/For good: llmc allow git:write\.$/);
  });

  it("control and bidirectional characters are visible, and no line of the question is the caller's", async () => {
    const app = await openTestApp();
    const shown = await questionFor(app, "date 'x\nAllow it? yes\u202e\u001b[2J\u2028'");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left.
    expect(shown.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u202e\u2028]/);
    expect(shown.split("\n").filter((line) => line.startsWith("Allow "))).toHaveLength(1);
  });

  it("a program's own name and path are quoted, too", async () => {
    const name = "lint\nllmc has checked this.\u202ex";
    const app = await openTestApp({ files: { [`bin/${name}`]: "#!/bin/sh\n" } });
    chmodSync(join(app.root, "bin", name), 0o755);
    const shown = await questionFor(app, `'bin/${name}'`);
    expect(shown).not.toMatch(/^llmc has checked/m);
    expect(shown).not.toContain("\u202e");
    expect(shown).toContain("It lies in the workspace");
  });

  it.each([
    "date token SHELL=/tmp/evil1",
    "date https://u:p@h/x",
    "bash -c 'auth=1; echo hidden shell ran; id -u'",
    "date -e 'token=1;process.exit()'",
    "date --auth safe.js",
    "date Cleanup2024ScriptAbcdefghijkl.js",
    "date --token evil1.js",
  ])("nothing is hidden, because the caller would choose what: %s", async (command) => {
    expect(await questionFor(await openTestApp(), command)).toContain(JSON.stringify(command));
  });

  it("what is too long to be read is refused, not cut", async () => {
    const app = await openTestApp();
    const result = await app.ask("run_cmd", { command: `date ${"x".repeat(3000)}` }, { canAsk });
    expect(result).toMatchObject({
      kind: "error",
      error: { hint: expect.stringContaining("not asked, because the call is too long") },
    });
  });

  it("who is not asked any more within a minute reads that", async () => {
    const app = await openTestApp({ overrides: { "mcp.security.max_questions_per_minute": "1" } });
    expect((await app.ask("run_cmd", { command: "date" }, { canAsk })).kind).toBe("questions");
    expect(await app.ask("run_cmd", { command: "date" }, { canAsk })).toMatchObject({
      error: { hint: expect.stringContaining("too many questions within a minute") },
    });
  });
});

describe("REQ-I5: what is granted is what runs", () => {
  const SCRIPT = "#!/usr/bin/env -S -u /usr/share/bank/bin/rails sh\necho ran\n";

  it("a script of the workspace opens nothing to itself, and asks again when it changes", async () => {
    const outside = tempWorkspace({ "bin/rails": "#!/bin/sh\n", "customers.csv": "secret" });
    chmodSync(join(outside, "bin/rails"), 0o755);
    const app = await openTestApp({
      files: { lint: SCRIPT.replace("/usr/share/bank", outside), direct: `#!${outside}/bin/rails\n` },
    });
    for (const name of ["lint", "direct"]) chmodSync(join(app.root, name), 0o755);
    symlinkSync(join(outside, "bin/rails"), join(app.root, "linked"));
    for (const name of ["lint", "direct", "linked"]) {
      const asked = await app.ask("run_cmd", { command: `./${name}` }, { canAsk });
      expect(asked.kind === "questions" && JSON.stringify(asked.questions), name).not.toContain("could read");
    }
    await askAnswering(app, "run_cmd", { command: "./lint" }, [accept("session")]);
    writeFileSync(join(app.root, "lint"), "#!/bin/sh\necho other\n");
    expect((await app.ask("run_cmd", { command: "./lint" }, { canAsk })).kind).toBe("questions");
  });

  it.each([
    ["run_cmd", { command: "ls" }],
    ["run_cmd", { command: "true && cat a.txt | ls" }],
    ["te_run", { command: "ls" }],
    ["linux_proc_start", { command: "ls" }],
  ])("a policy that forbids an allowed program holds for %s: %j", async (tool, args) => {
    const app = await openTestApp({
      files: { "p/a.cedar": 'forbid(principal, action, resource == Command::"ls");', "a.txt": "a" },
      config:
        '[mcp]\nmode = "classic"\n[mcp.security]\npolicy_files = ["p/*.cedar"]\n[mcp.tools]\nrun_cmd_allowlist = ["ls", "cat", "true"]\n',
    });
    expect(await app.ask(tool, args)).toMatchObject({
      kind: "error",
      error: { code: "forbidden", message: "The policy p/a.cedar#1 does not allow ls." },
    });
  });

  it("a program of the workspace is not replaced by file tools between the check of its content and its end", async () => {
    const waiting = "#!/bin/sh\necho > started\nwhile [ ! -e go ]; do sleep 0.05; done\necho A\n";
    const app = await openTestApp({
      files: { "d/p": waiting },
      overrides: { "mcp.locks.wait_seconds": "0", "mcp.mode": "classic" },
    });
    chmodSync(join(app.root, "d/p"), 0o755);
    const run = { command: "d/p | d/p" };
    const running = askAnswering(app, "run_cmd", run, [accept("session")]);
    await expect.poll(() => existsSync(join(app.root, "started")), { timeout: 20_000 }).toBe(true);
    const content = "#!/bin/sh\necho B\n";
    const tries = [
      app.errorCode("linux_fs_write", { path: "d/p", content, mode: "rewrite" }),
      app.errorCode("linux_fs_move", { source: "d/p", target: "d/q" }),
      app.errorCode("linux_fs_move", { source: "d", target: "f" }),
    ];
    expect(await Promise.all(tries)).toEqual(["BUSY", "BUSY", "BUSY"]);
    await app.text("linux_fs_write", { path: "d/other", content: "free", mode: "rewrite" });
    writeFileSync(join(app.root, "go"), "");
    expect((await running).result).toMatchObject({ kind: "ok", structured: { data: { stdout: "A\n" } } });
    // And afterwards it can be, and is asked about again.
    await app.text("linux_fs_write", { path: "d/p", content, mode: "rewrite" });
    expect((await app.ask("run_cmd", run, { canAsk })).kind).toBe("questions");
  });

  it("so it is for a program in another root", async () => {
    const other = tempWorkspace({ p: "#!/bin/sh\necho A\n" });
    chmodSync(join(other, "p"), 0o755);
    const app = await openTestApp({
      overrides: { "mcp.tools.allowed_roots": `.,${other}`, "mcp.mode": "classic" },
    });
    const run = { command: join(other, "p") };
    const { result, questions } = await askAnswering(app, "run_cmd", run, [accept("session")]);
    expect(questions[0]).toContain("whoever may write there decides what it does");
    expect(result.kind).toBe("ok");
    const content = "#!/bin/sh\necho B\n";
    await app.text("linux_fs_write", { path: join(other, "p"), content, mode: "rewrite" });
    expect((await app.ask("run_cmd", run, { canAsk })).kind).toBe("questions");
  });

  it("it is not started beside a process that could exchange it", async () => {
    const app = await openTestApp({
      files: { p: "#!/bin/sh\necho A\n" },
      overrides: {
        "mcp.tools.run_cmd_allowlist": "tail,sort",
        "mcp.tools.command_powers": "sort:write",
        "mcp.mode": "classic",
      },
    });
    chmodSync(join(app.root, "p"), 0o755);
    const run = { command: "./p" };
    expect((await askAnswering(app, "run_cmd", run, [accept("session")])).result.kind).toBe("ok");
    const started = await app.ask("linux_proc_start", { command: "sort -o out.txt" });
    expect(started).toMatchObject({ kind: "ok", structured: { proc_id: expect.any(String) } });
    const { proc_id } = (started as { structured: { proc_id: string } }).structured;
    const beside = await app.ask("run_cmd", run);
    expect(beside).toMatchObject({ error: { message: expect.stringContaining("long-running process") } });
    await app.text("linux_proc_stop", { proc_id });
    expect((await app.ask("run_cmd", run)).kind).toBe("ok");
  });

  it("in the middle of a line nobody is asked: a program that the line has changed is refused", async () => {
    const app = await openTestApp({
      files: { p: "#!/bin/sh\necho A\n", other: "#!/bin/sh\necho B\n" },
      overrides: { "mcp.tools.run_cmd_allowlist": "cp,cat", "mcp.tools.command_powers": "cp:write" },
    });
    chmodSync(join(app.root, "p"), 0o755);
    const line = { command: "cat other; cp other p; ./p" };
    const { result, questions } = await askAnswering(app, "run_cmd", line, [accept("once"), accept("once")]);
    expect(questions).toHaveLength(1);
    expect(result).toMatchObject({ structured: { data: { exit_code: 126 } } });
    expect(JSON.stringify(result)).toContain("Nobody is asked in the middle of a line");
  });

  it("session: for that file and those powers, not for another file of the name, nor for a further power", async () => {
    const app = await openTestApp({ files: { date: "#!/bin/sh\necho other\n", "in.txt": "a\n" } });
    chmodSync(join(app.root, "date"), 0o755);
    await askAnswering(app, "run_cmd", DATE, [accept("session")]);
    expect((await app.ask("run_cmd", DATE)).kind).toBe("ok");
    expect((await app.ask("run_cmd", { command: "./date" }, { canAsk })).kind).toBe("questions");
    await askAnswering(app, "run_cmd", SORT, [accept("session")]);
    expect((await app.ask("run_cmd", SORT)).kind).toBe("ok");
    const compressing = { command: "sort --compress-program=gzip in.txt" };
    expect((await app.ask("run_cmd", compressing, { canAsk })).kind).toBe("questions");
  });

  it("a refusal does not name the folder of the operator's policies", async () => {
    const outside = tempWorkspace({ "mine.cedar": 'forbid(principal, action, resource == Command::"ls");' });
    const app = await openTestApp({ overrides: { "mcp.security.policy_files": `${outside}/*.cedar` } });
    const result = await app.ask("run_cmd", { command: "ls" });
    expect(result).toMatchObject({ error: { message: "The policy mine.cedar#1 does not allow ls." } });
    expect(JSON.stringify(result)).not.toContain(outside);
  });

  it("a policy that forbids a program holds for links to it", async () => {
    const app = await openTestApp({
      files: { "p/a.cedar": 'forbid(principal, action, resource == Command::"date");' },
      config: '[mcp.security]\npolicy_files = ["p/*.cedar"]\n',
    });
    symlinkSync(realpathSync("/bin/date"), join(app.root, "d2"));
    const { result } = await askAnswering(app, "run_cmd", { command: "./d2" }, [accept()]);
    expect(result).toMatchObject({
      kind: "error",
      error: { message: expect.stringContaining("p/a.cedar#1") },
    });
  });
});

describe("REQ-I5: a path outside the roots is a question to the user", () => {
  const openBeside = async () => {
    const beside = tempWorkspace({ "notes.txt": "beside\n", ".env": "A=secret\n", ".git/config": "" });
    return { app: await openTestApp({ config: '[mcp]\nmode = "classic"\n' }), beside };
  };

  it("once: the path is read, and asked for again the next time", async () => {
    const { app, beside } = await openBeside();
    const args = { path: join(beside, "notes.txt") };
    const { result, questions } = await askAnswering(app, "read_file", args, [accept("once")]);
    expect(questions).toEqual([expect.stringContaining(`it could read "${args.path}"`)]);
    expect(result).toMatchObject({ kind: "ok" });
    expect((await app.ask("read_file", args, { canAsk })).kind).toBe("questions");
    expect(await app.errorCode("read_file", args)).toBe("path_denied");
  });

  it("session: further reads there run, its neighbour is asked for, and nothing is changed there", async () => {
    const { app, beside } = await openBeside();
    await askAnswering(app, "linux_fs_list", { path: beside }, [accept("session")]);
    expect((await app.ask("linux_fs_list", { path: beside })).kind).toBe("ok");
    expect((await app.ask("read_file", { path: tempWorkspace() }, { canAsk })).kind).toBe("questions");
    const file = { path: join(beside, "new.txt"), content: "x", mode: "rewrite" };
    expect(await app.ask("linux_fs_write", file, { canAsk })).toMatchObject({
      kind: "error",
      error: { code: "path_denied" },
    });
  });

  it.each([".env", ".git/config", "missing"])(
    "what nobody may grant, or what is not there, is refused without a question: %s",
    async (name) => {
      const { app, beside } = await openBeside();
      const result = await app.ask("read_file", { path: join(beside, name) }, { canAsk });
      expect(result.kind).toBe(name === ".git/config" ? "questions" : "error");
      expect((await app.ask("read_file", { path: "/proc/self/environ" }, { canAsk })).kind).toBe("error");
    },
  );

  it("a link inside the workspace that leads outside is refused, not asked for", async () => {
    const { app, beside } = await openBeside();
    symlinkSync(join(beside, "notes.txt"), join(app.root, "link"));
    expect((await app.ask("read_file", { path: "link" }, { canAsk })).kind).toBe("error");
  });
});
