import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp } from "../../test/app.ts";
import { processesWith } from "../../test/escapes/command-stand.ts";

interface Shown {
  readonly proc_id: string;
  readonly pid: number;
  readonly state: string;
  readonly output: string;
  readonly next: number;
  readonly lost_bytes: number;
  readonly waits_for_input: boolean;
  readonly truncated: boolean;
  readonly handle: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly reason: string | null;
  readonly tier: string;
}

const open = (more: Readonly<Record<string, string>> = {}): Promise<TestApp> =>
  openTestApp({
    overrides: {
      "mcp.mode": "classic",
      "mcp.tools.run_cmd_allowlist": "sh,cat,sleep,yes,python3,env",
      "mcp.tools.command_powers": "python3:run,sh:run,env:run",
      ...more,
    },
  });

const shown = async (app: TestApp, tool: string, args: unknown): Promise<Shown> => {
  const result = await app.ask(tool, args);
  if (result.kind !== "ok") throw new Error(`expected success: ${JSON.stringify(result)}`);
  return result.structured as Shown;
};

/** Reads until the output so far holds the text. */
const readUntil = async (app: TestApp, proc_id: string, wanted: RegExp, soFar = ""): Promise<string> => {
  let text = soFar;
  for (let round = 0; round < 40 && !wanted.test(text); round++)
    text += (await shown(app, "linux_proc_read", { proc_id, wait_ms: 500 })).output;
  expect(text).toMatch(wanted);
  return text;
};

const untilEnded = async (app: TestApp, proc_id: string): Promise<Shown> => {
  for (let round = 0; round < 40; round++) {
    const now = await shown(app, "linux_proc_read", { proc_id, wait_ms: 500, from: 0 });
    if (now.state === "ended") return now;
  }
  throw new Error("it runs on");
};

describe("processes", () => {
  test("REQ-T9: a REPL without a terminal: start, send, answer, EOF, exit code", async () => {
    const app = await open();
    const start = await shown(app, "linux_proc_start", { command: "python3 -i -q -u", wait_ms: 10_000 });
    const { proc_id, pid, tier } = start;
    expect(proc_id).toMatch(/^p_\w{8}$/);
    expect(pid).toBeGreaterThan(1);
    expect(tier).toMatch(/bubblewrap|landlock|plain/);
    await readUntil(app, proc_id, />>> $/, start.output);
    const { output } = await shown(app, "linux_proc_send", { proc_id, input: "print(6 * 7)" });
    await readUntil(app, proc_id, /42\n>>> $/, output);
    await app.text("linux_proc_send", { proc_id, key: "ctrl-d" });
    expect(await untilEnded(app, proc_id)).toMatchObject({ state: "ended", exit_code: 0, reason: null });
    expect(await app.errorCode("linux_proc_send", { proc_id, input: "x" })).toBe("UNAVAILABLE");
  });

  test("REQ-T9: a REPL in a terminal: echo is left out, ctrl-c interrupts, ctrl-d ends", async () => {
    const app = await open();
    const { proc_id, output } = await shown(app, "linux_proc_start", {
      command: "python3 -q",
      pty: true,
      wait_ms: 5000,
    });
    await readUntil(app, proc_id, />>> $/, output);
    const answer = await shown(app, "linux_proc_send", {
      proc_id,
      input: "import os, time; print(os.isatty(0), os.get_terminal_size().columns)",
    });
    const printed = await readUntil(app, proc_id, />>> $/, answer.output);
    expect(printed).toMatch(/^True 160\n>>> $/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none.
    expect(printed).not.toMatch(/[\u001b\r]/);
    await app.text("linux_proc_send", { proc_id, input: "time.sleep(60)", wait_ms: 200 });
    const broken = await shown(app, "linux_proc_send", { proc_id, key: "ctrl-c", wait_ms: 5000 });
    await readUntil(app, proc_id, /KeyboardInterrupt\n>>> $/, broken.output);
    await app.text("linux_proc_send", { proc_id, input: "raise SystemExit(3)" });
    expect(await untilEnded(app, proc_id)).toMatchObject({ exit_code: 3, signal: null });
    const cat = await shown(app, "linux_proc_start", { command: "cat", pty: true });
    expect((await shown(app, "linux_proc_send", { proc_id: cat.proc_id, input: "ä" })).output).toBe("ä\n");
    await app.text("linux_proc_send", { proc_id: cat.proc_id, key: "ctrl-d" });
    expect(await untilEnded(app, cat.proc_id)).toMatchObject({ exit_code: 0 });
  });

  test("REQ-T9: ctrl-c without a terminal is SIGINT; a shell's exit code is told", async () => {
    const app = await open();
    const { proc_id } = await shown(app, "linux_proc_start", {
      command: `sh -c 'trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.05; done'`,
      wait_ms: 5000,
    });
    await app.text("linux_proc_send", { proc_id, key: "ctrl-c" });
    const { output, exit_code } = await untilEnded(app, proc_id);
    expect([output, exit_code]).toEqual(["ready\ncaught\n", 9]);
    expect(await app.text("linux_proc_list")).toMatch(new RegExp(`^${proc_id} exit 9 [\\d.]+s 13B sh -c`));
  });

  test("REQ-X9 FAIL-C6: refusals are those of run_cmd, and nothing was started", async () => {
    const app = await openTestApp({ files: { ".env": "x" }, overrides: { "mcp.mode": "classic" } });
    for (const command of ["sh -c id", "./ls", "python3", "find . -exec id {} +", "git -c alias.x=!id x"])
      expect(await app.errorCode("linux_proc_start", { command })).toBe("PERMISSION_DENIED");
    expect(await app.errorCode("linux_proc_start", { command: "cat .env" })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_proc_start", { command: "ls", cwd: ".." })).toBe("INVALID_PATH");
    expect(await app.errorCode("linux_proc_start", { command: "'unbalanced" })).toBe("INVALID_ARGS");
    expect(await app.text("linux_proc_list")).toBe("[none]");
  });

  test("REQ-X2: enable_run_cmd = false removes and refuses them", async () => {
    const app = await open({ "mcp.tools.enable_run_cmd": "false" });
    const names = app.core.listTools().map(({ name }) => name);
    expect(names.filter((name) => name.startsWith("linux_proc_"))).toEqual(["linux_proc_list"]);
    expect(await app.errorCode("linux_proc_start", { command: "cat" })).toBe("NOT_FOUND");
  });

  test("REQ-X6 FAIL-C4: the environment is clean, and tells whose session it is", async () => {
    const app = await open();
    process.env["ZEBRA_API_KEY"] = "zebra";
    const { output } = await shown(app, "linux_proc_start", { command: "env", pty: true, wait_ms: 5000 });
    delete process.env["ZEBRA_API_KEY"];
    expect(output).toContain("TE_SESSION_ID=test-session");
    expect(output).not.toContain("zebra");
  });

  test("REQ-T9: a process belongs to its session", async () => {
    const app = await open();
    const { proc_id, pid } = await shown(app, "linux_proc_start", { command: "cat" });
    const caller = {
      agentId: "test",
      // The name that the owner goes by is a label: it opens nothing.
      sessionId: "test-session",
      model: "none",
      transport: "http" as const,
      principal: "local",
      owner: "another",
      may: new Set(["read", "execute"]),
    };
    for (const [tool, args] of [
      ["linux_proc_read", { proc_id }],
      ["linux_proc_send", { proc_id, input: "x" }],
      ["linux_proc_stop", { proc_id }],
      ["linux_proc_kill", { proc_id }],
      ["linux_proc_kill", { pid }],
    ] as const)
      expect(await app.ask(tool, args, { caller })).toMatchObject({
        body: { meta: { error_code: "NOT_FOUND" } },
      });
    expect(await app.ask("linux_proc_list", {}, { caller })).toMatchObject({ structured: { processes: [] } });
    expect(await shown(app, "linux_proc_send", { proc_id, input: "mine" })).toMatchObject({
      state: "running",
      output: "mine\n",
    });
  });

  test("REQ-T9: kill reaches only what this session started, and never the server", async () => {
    const app = await open();
    expect(await app.errorCode("linux_proc_kill", { pid: process.pid })).toBe("NOT_FOUND");
    expect(await app.errorCode("linux_proc_kill", {})).toBe("INVALID_ARGS");
    const { proc_id } = await shown(app, "linux_proc_start", { command: "cat" });
    expect(await app.text("linux_proc_kill", { proc_id, signal: "USR1" })).toBe("[USR1 sent]");
    await untilEnded(app, proc_id);
    const second = await shown(app, "linux_proc_start", { command: "cat" });
    expect(await app.text("linux_proc_kill", { proc_id: second.proc_id })).toBe("[killed; SIGKILL]");
    const free = await open({ "mcp.tools.kill_foreign_processes": "true" });
    expect(await free.errorCode("linux_proc_kill", { pid: process.pid })).toBe("PERMISSION_DENIED");
    expect(await free.errorCode("linux_proc_kill", { pid: 1 })).toBe("PERMISSION_DENIED");
    expect(await free.errorCode("linux_proc_kill", { pid: 4_194_303 })).toBe("NOT_FOUND");
    // FAIL-J7: processes of the machine are not those of other callers.
    const { pid } = await shown(free, "linux_proc_start", { command: "cat" });
    const caller = { ...TEST_CALLER, owner: "another" };
    expect(await free.ask("linux_proc_kill", { pid }, { caller })).toMatchObject({
      body: { meta: { error_code: "NOT_FOUND" } },
    });
  });

  test("REQ-T9: long output is cut to its end, with a handle to the rest; the ring tells what it lost", async () => {
    const app = await open();
    const { proc_id } = await shown(app, "linux_proc_start", {
      command: `sh -c 'i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; cat'`,
      wait_ms: 0,
    });
    await readUntil(app, proc_id, /line 2999\n$/);
    const again = await shown(app, "linux_proc_read", { proc_id, from: 0 });
    expect(again).toMatchObject({ truncated: true, lost_bytes: 0, state: "running" });
    expect(again.output.length).toBeLessThan(8001);
    expect(again.output).toMatch(/^line \d+\n[\s\S]*line 2999\n$/);
    expect(await app.text("linux_handle_read", { handle: again.handle, max_lines: 1 })).toContain("line 0");
    expect((await shown(app, "linux_proc_read", { proc_id, lines: 2 })).output).toBe(
      "line 2998\nline 2999\n",
    );
    expect(await app.text("linux_proc_read", { proc_id })).toBe("[waits for input: linux_proc_send]");
    const flood = await shown(app, "linux_proc_start", { command: "yes", wait_ms: 1000 });
    const late = await shown(app, "linux_proc_read", { proc_id: flood.proc_id, from: 0 });
    expect(late.lost_bytes).toBeGreaterThan(0);
    await app.text("linux_proc_stop", { proc_id: flood.proc_id });
  });

  test("REQ-D28: half an hour by default, and the connections' idle time has nothing to do with it", async () => {
    const app = await open({ "mcp.tools.idle_timeout": "1" });
    expect(app.config.current().config.mcp.tools.process_idle_seconds).toBe(1800);
    const { proc_id } = await shown(app, "linux_proc_start", { command: "cat", wait_ms: 0 });
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect((await shown(app, "linux_proc_send", { proc_id, input: "still here" })).output).toBe(
      "still here\n",
    );
  });

  test("REQ-T9: input that ends in a newline is complete; any other gets one", async () => {
    const app = await open();
    for (const pty of [false, true]) {
      const { proc_id } = await shown(app, "linux_proc_start", { command: "cat -n", pty });
      await shown(app, "linux_proc_send", { proc_id, input: "one\n" });
      await shown(app, "linux_proc_send", { proc_id, input: "two" });
      const { output } = await shown(app, "linux_proc_read", { proc_id, from: 0, wait_ms: 300 });
      expect(output).toMatch(/1\tone\n(?:two\n)? +2\ttwo\n$/);
    }
  });

  test("REQ-T9: a program that waits for input without saying so gets a hint; one at work does not", async () => {
    const app = await open();
    const silent = await app.text("linux_proc_start", {
      command: "sh -c 'read name; echo hi $name'",
      wait_ms: 500,
    });
    expect(silent).toMatch(/\[waits for input: linux_proc_send\]$/);
    const proc_id = silent.split(" ")[0] ?? "";
    expect(await app.text("linux_proc_send", { proc_id, input: "you", wait_ms: 3000 })).toContain("hi you");
    expect(await app.text("linux_proc_start", { command: "sleep 30", wait_ms: 500 })).not.toContain("waits");
    const asking = await shown(app, "linux_proc_start", {
      command: "sh -c 'printf \"Name: \"; read name'",
      wait_ms: 5000,
    });
    expect(asking).toMatchObject({ output: "Name: ", waits_for_input: true });
    const busy = await shown(app, "linux_proc_start", {
      command: "sh -c 'printf \"Waiting: \"; sleep 30'",
      wait_ms: 5000,
    });
    expect(busy).toMatchObject({ output: "Waiting: ", waits_for_input: false });
    expect(await app.text("linux_proc_read", { proc_id: asking.proc_id, from: 0 })).toBe("Name: ");
  });

  test("REQ-T9: an interpreter without a terminal reads a whole script, and is told to", async () => {
    const app = await open();
    const started = await app.text("linux_proc_start", { command: "python3 -q", wait_ms: 500 });
    expect(started).toMatch(/\n\[reads a whole script, up to key ctrl-d; .* pty: true or -i\]$/);
    const proc_id = started.split(" ")[0] ?? "";
    expect(await app.text("linux_proc_send", { proc_id, input: "print(6 * 7)", wait_ms: 300 })).toMatch(
      /^\[reads a whole script/,
    );
    expect(await app.text("linux_proc_send", { proc_id, key: "ctrl-d", wait_ms: 5000 })).toMatch(
      /^42\n\[exit 0\]$/,
    );
    for (const start of [
      { command: "python3 -qi" },
      { command: "python3 -q", pty: true },
      { command: "python3 -c 'import time; time.sleep(30)'" },
      { command: "cat" },
    ])
      expect(await app.text("linux_proc_start", { ...start, wait_ms: 300 })).not.toContain("script");
  });

  test("REQ-T9: one long line is shown, too, not only what comes after it", async () => {
    const app = await open();
    const { proc_id } = await shown(app, "linux_proc_start", { command: "cat", wait_ms: 0 });
    const { output, handle } = await shown(app, "linux_proc_send", {
      proc_id,
      input: `${"x".repeat(20_000)}\nend`,
      wait_ms: 3000,
    });
    expect(output).toMatch(/^x{7000,8000}\nend\n$/);
    expect(handle).not.toBeNull();
  });

  test("REQ-T9: a prompt that was answered is no sign that a program waits", async () => {
    const app = await open();
    const { proc_id, output } = await shown(app, "linux_proc_start", {
      command: "python3 -qi",
      wait_ms: 10_000,
    });
    await readUntil(app, proc_id, />>> $/, output);
    const input = "import time; time.sleep(30)";
    expect(await app.text("linux_proc_send", { proc_id, input, wait_ms: 500 })).toBe(
      "[running; no new output]",
    );
    const stopped = await app.text("linux_proc_send", { proc_id, key: "^C", wait_ms: 5000 });
    expect(stopped).toContain("KeyboardInterrupt");
  });

  test("REQ-T9: send honours wait_ms in a terminal: the echo is no answer, and a prompt ends the wait", async () => {
    const app = await open();
    const { proc_id, output } = await shown(app, "linux_proc_start", {
      command: "python3 -q",
      pty: true,
      wait_ms: 10_000,
    });
    await readUntil(app, proc_id, />>> $/, output);
    const slow = await shown(app, "linux_proc_send", {
      proc_id,
      input: "import time; print('a', flush=True); time.sleep(1.2); print('b')",
      wait_ms: 20_000,
    });
    expect(slow.output).toBe("a\nb\n>>> ");
    expect(slow.waits_for_input).toBe(true);
    const startedAt = performance.now();
    const quick = await shown(app, "linux_proc_send", { proc_id, input: "print(1)\n", wait_ms: 20_000 });
    expect(quick.output).toBe("1\n>>> ");
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    const late = await shown(app, "linux_proc_send", { proc_id, input: "time.sleep(30)", wait_ms: 300 });
    expect(late).toMatchObject({ output: "", state: "running", waits_for_input: false });
  });

  test("REQ-T9 REQ-D28: an idle process is ended, and a later read says why", async () => {
    const app = await open({ "mcp.tools.process_idle_seconds": "1" });
    const { proc_id } = await shown(app, "linux_proc_start", { command: "sleep 600", wait_ms: 0 });
    for (let round = 0; round < 60 && !/ended|idle/.test(await app.text("linux_proc_list")); round++)
      await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await app.text("linux_proc_read", { proc_id })).toMatch(/^\[idle for 1 s; /);
  });

  test("REQ-T9: too many at once are refused as retryable", async () => {
    const app = await open({ "mcp.tools.max_processes_per_session": "2" });
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => app.ask("linux_proc_start", { command: "cat", wait_ms: 0 })),
    );
    const refused = answers.flatMap((one) => (one.kind === "error" ? [one.body.meta] : []));
    expect(refused.map(({ error_code, retryable }) => [error_code, retryable])).toEqual([
      ["BUSY", true],
      ["BUSY", true],
    ]);
  });

  test("FAIL-D3: wrong arguments", async () => {
    const app = await open();
    const { proc_id } = await shown(app, "linux_proc_start", { command: "cat" });
    expect(await app.errorCode("linux_proc_send", { proc_id })).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_proc_send", { proc_id, key: "ctrl-zz" })).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_proc_send", { proc_id, key: "up" })).toBe("INVALID_ARGS");
    expect(await app.errorCode("linux_proc_read", { proc_id: "p_nothing" })).toBe("NOT_FOUND");
    expect(await app.errorCode("linux_proc_read", { proc_id, wait_ms: -1 })).toBe("INVALID_ARGS");
    const terminal = await shown(app, "linux_proc_start", { command: "cat", pty: true });
    expect(
      await app.errorCode("linux_proc_send", { proc_id: terminal.proc_id, input: "x".repeat(5000) }),
    ).toBe("INVALID_ARGS");
  });

  test("FAIL-D5: a start that is cancelled leaves nothing, and a read that is cancelled loses nothing", async () => {
    const app = await open();
    const tag = `8${process.pid}.25`;
    for (const afterMs of [0, 5, 30, 120, 400]) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), afterMs);
      const result = await app.ask(
        "linux_proc_start",
        { command: `sleep ${tag}`, wait_ms: 20_000 },
        { signal: controller.signal },
      );
      expect(result).toMatchObject({ body: { meta: { error_code: "CANCELLED" } } });
    }
    for (let round = 0; round < 50 && processesWith(tag).length > 0; round++)
      await new Promise((resolve) => setTimeout(resolve, 100));
    expect(processesWith(tag)).toEqual([]);
    const { proc_id } = await shown(app, "linux_proc_start", { command: "cat" });
    const controller = new AbortController();
    const reading = app.ask("linux_proc_read", { proc_id, wait_ms: 20_000 }, { signal: controller.signal });
    controller.abort();
    expect(await reading).toMatchObject({ body: { meta: { error_code: "CANCELLED" } } });
    expect((await shown(app, "linux_proc_send", { proc_id, input: "still here" })).output).toBe(
      "still here\n",
    );
  });

  test("FAIL-D6: a terminal that nobody reads takes its fill, and the server goes on", async () => {
    const app = await open();
    const { proc_id } = await shown(app, "linux_proc_start", { command: "sleep 600", pty: true, wait_ms: 0 });
    const input = `${"x".repeat(1000)}\n`.repeat(200);
    for (let round = 0; round < 5; round++) await app.ask("linux_proc_send", { proc_id, input, wait_ms: 0 });
    expect(await app.errorCode("linux_proc_send", { proc_id, input, wait_ms: 0 })).toBe("BUSY");
    expect(await app.text("linux_proc_stop", { proc_id })).toContain("[stopped; ");
  });

  test("REQ-T9: the end of the server ends them all, and gives their descriptors back", async () => {
    const app = await open();
    const before = readdirSync("/proc/self/fd").length;
    const tag = `8${process.pid}.75`;
    await shown(app, "linux_proc_start", { command: `sleep ${tag}`, wait_ms: 0 });
    await shown(app, "linux_proc_start", { command: `sleep ${tag}`, pty: true, wait_ms: 0 });
    expect(processesWith(tag).length).toBeGreaterThan(1);
    await app.close();
    expect(processesWith(tag)).toEqual([]);
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 2);
  });
});

describe("REQ-D23 REQ-X9 linux_proc_start reads a line as run_cmd does", () => {
  test("cd and variables come before the one program, and its arguments are expanded", async () => {
    const app = await openTestApp({
      files: { "d/one.txt": "1", "d/two.txt": "2" },
      overrides: {
        "mcp.mode": "classic",
        "mcp.tools.run_cmd_allowlist": "sh",
        "mcp.tools.command_powers": "sh:run",
      },
    });
    const command = `cd d && NAME=value sh -c 'echo "$NAME $1 $2"; sleep 60' sh *.txt 2>&1`;
    const started = await shown(app, "linux_proc_start", { command, wait_ms: 5000 });
    expect(await readUntil(app, started.proc_id, /txt two/, started.output)).toContain(
      "value one.txt two.txt",
    );
  });

  test.each(["sh | cat", "sh; cat", "sh > out.txt", "cd nowhere && sh", "(sh)", "sh &", "LD_PRELOAD=x sh"])(
    "what is more than one program is refused with a way out: %s",
    async (command) => {
      const app = await open();
      const result = await app.ask("linux_proc_start", { command });
      expect(result).toMatchObject({ kind: "error" });
      expect(result.kind === "error" && result.error.hint).toMatch(/\w{3}/);
    },
  );
});
