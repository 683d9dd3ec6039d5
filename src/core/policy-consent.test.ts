import { chmodSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp, tempWorkspace } from "../../test/app.ts";
import { toLlmcError } from "../base/error.ts";
import { QuestionsAsked } from "./contract.ts";
import type { Origin } from "./origin.ts";

const canAsk = (): boolean => true;
const ONCE = { grant: { action: "accept", content: { grant: "once" } } };

const openWith = (policies: string, config = "", files: Readonly<Record<string, string>> = {}) =>
  openTestApp({
    files: { "p/a.cedar": policies, ...files },
    config: `[mcp]\nmode = "classic"\n[mcp.security]\npolicy_files = ["p/*.cedar"]\n${config}`,
  });

/** The question that a call ends with, and what comes of it after a yes to this call. */
const askOnce = async (app: TestApp, tool: string, args: unknown, origin: Partial<Origin> = {}) => {
  const asked = await app.ask(tool, args, { canAsk, ...origin });
  if (asked.kind !== "questions" || asked.questions["grant"]?.kind !== "form")
    throw new Error(`no question: ${JSON.stringify(asked)}`);
  const { message } = asked.questions["grant"];
  const after = await app.ask(tool, args, { canAsk, ...origin, state: asked.state, answers: ONCE });
  return { message, after };
};

describe("REQ-I5: a policy that asks for consent, and its question, work alike for everything that is decided on", () => {
  it("a tool", async () => {
    const app = await openWith(
      '@prompt("Write this?") forbid(principal, action == Action::"linux_fs_write", resource) unless { context.granted };',
    );
    const { message, after } = await askOnce(app, "linux_fs_write", { path: "a", content: "b" });
    expect(message).toMatch(/\nWrite this\?$/);
    expect(after.kind).toBe("ok");
  });

  it.each(["run_cmd", "te_run", "linux_proc_start"])("a listed program of %s", async (tool) => {
    const app = await openWith(
      '@prompt("List it?") forbid(principal, action, resource == Command::"ls") unless { context.granted };',
    );
    const { message, after } = await askOnce(app, tool, { command: "ls" });
    expect(message).toMatch(
      /"ls" is among the allowed programs, but a policy asks for consent\.\nList it\?\n/,
    );
    expect(after.kind).toBe("ok");
    expect(await app.ask(tool, { command: "ls" })).toMatchObject({
      kind: "error",
      error: { message: "The policy p/a.cedar#1 does not allow ls." },
    });
  });

  it("a program that is not listed: one question, which is the operator's", async () => {
    const app = await openWith(
      '@prompt("May date run?") permit(principal, action, resource == Command::"date") when { context.granted };\n' +
        'forbid(principal, action, resource == Command::"date") unless { context.granted };',
    );
    const { message, after } = await askOnce(app, "run_cmd", { command: "date +%%" });
    expect(message).toMatch(/which is not among the allowed programs\.\n(?:.*\n)*May date run\?\n/);
    expect(after.kind).toBe("ok");
  });

  it("a program by the name of the file that a link leads to", async () => {
    const name = basename(realpathSync("/bin/date"));
    const app = await openWith(
      `forbid(principal, action, resource == Command::"${name}") unless { context.granted };`,
    );
    mkdirSync(join(app.root, "bin"));
    symlinkSync(realpathSync("/bin/date"), join(app.root, "bin/clock"));
    const { after } = await askOnce(app, "run_cmd", { command: "bin/clock +%%" });
    expect(after.kind).toBe("ok");
  });

  it("a permit for the name of a link is enough: nobody has to permit its file as well", async () => {
    const app = await openWith('permit(principal, action, resource == Command::"clock");');
    symlinkSync(realpathSync("/bin/date"), join(app.root, "clock"));
    expect((await app.ask("run_cmd", { command: "./clock +%%" })).kind).toBe("ok");
  });

  it("a path outside the roots", async () => {
    const beside = tempWorkspace({ "notes.txt": "beside\n" });
    const app = await openWith(
      '@prompt("Read there?") permit(principal, action in Action::"read", resource is File) when { context.granted };',
    );
    const { message, after } = await askOnce(app, "read_file", { path: join(beside, "notes.txt") });
    expect(message).toMatch(/\nRead there\?$/);
    expect(after.kind).toBe("ok");
  });

  it("files that a command line uses by itself", async () => {
    const app = await openWith(
      '@prompt("Redirect?") forbid(principal, action in Action::"write", resource) unless { context.granted };',
    );
    const { message, after } = await askOnce(app, "run_cmd", { command: "echo hi > a.txt" });
    expect(message).toMatch(/\nThe line writes files by itself, without a program\.\nRedirect\?$/);
    expect(after.kind).toBe("ok");
    expect(await app.text("read_file", { path: "a.txt" })).toContain("hi");
  });

  it("a host, unless the configuration refuses it: no answer lifts that", async () => {
    const app = await openWith(
      '@prompt("Send it?") forbid(principal, action, resource == Host::"models.example") unless { context.granted };',
    );
    const send = (origin: Partial<Origin>, isListed = true) =>
      app.core.serve(
        "invoke_agent",
        { caller: TEST_CALLER, correlationId: app.newId(), ...origin },
        async ({ caller }) => {
          const refusal = isListed ? undefined : toLlmcError(new Error("not listed"));
          caller.permitHost?.({ host: "models.example", refusal });
          return "sent";
        },
        { also: ["ask_model"] },
      );
    await expect(send({})).rejects.toMatchObject({
      code: "forbidden",
      message: "The policy p/a.cedar#1 does not allow text to models.example.",
      hint: expect.stringContaining("llmc policy explain ask_model --host models.example"),
    });
    const asked: unknown = await send({ canAsk }).catch((thrown: unknown) => thrown);
    if (!(asked instanceof QuestionsAsked)) throw asked;
    expect(asked.questions["grant"]).toMatchObject({
      message: 'The agent wants to use invoke_agent.\nIt sends text to "models.example".\nSend it?',
    });
    expect(await send({ canAsk, state: asked.state, answers: ONCE })).toBe("sent");
    await expect(send({ canAsk }, false)).rejects.not.toBeInstanceOf(QuestionsAsked);
  });

  it("a listed host needs nothing, and one that is not is refused as the configuration says", async () => {
    const app = await openTestApp();
    const send = (isListed: boolean, may = TEST_CALLER.may) =>
      app.core.serve(
        "invoke_agent",
        { caller: { ...TEST_CALLER, may }, correlationId: app.newId() },
        async ({ caller }) => {
          const refusal = isListed ? undefined : toLlmcError({ code: "EROFS" });
          caller.permitHost?.({ host: "models.example", refusal });
          return "sent";
        },
        { also: ["ask_model"] },
      );
    expect(await send(true)).toBe("sent");
    await expect(send(false)).rejects.toMatchObject({ code: "internal_error" });
    await expect(send(true, new Set(["read"]))).rejects.toMatchObject({
      message: 'This caller may not use invoke_agent: it lacks the scope "egress".',
    });
  });
});

describe("REQ-I4: a policy that forbids writing or reading", () => {
  it.each([
    ["run_cmd", "echo over > a.txt", "write"],
    ["te_run", "echo over >> a.txt", "write"],
    ["run_cmd", "cat < a.txt", "read"],
    ["run_cmd", "echo *.txt", "read"],
    ["run_cmd", "test -f a.txt", "read"],
  ])("holds for what the line of %s does by itself: %s", async (tool, command, group) => {
    const app = await openWith(
      `@id("not") forbid(principal, action in Action::"${group}", resource);`,
      '[mcp.tools]\nrun_cmd_allowlist = ["cat", "echo", "test"]\n',
      { "a.txt": "first" },
    );
    expect(await app.ask(tool, { command })).toMatchObject({
      kind: "error",
      error: {
        message: expect.stringMatching(/^The policy not does not allow (reading|writing) files in a/),
      },
    });
    expect(readFileSync(join(app.root, "a.txt"), "utf8")).toBe("first");
  });
});

describe("REQ-I5: never", () => {
  it("is for the program, whatever it holds by then and under other names", async () => {
    const app = await openTestApp({ files: { p: "#!/bin/sh\necho A\n" } });
    chmodSync(join(app.root, "p"), 0o755);
    const asked = await app.ask("run_cmd", { command: "./p" }, { canAsk });
    if (asked.kind !== "questions") throw new Error("no question");
    const answers = { grant: { action: "accept", content: { grant: "never" } } };
    await app.ask("run_cmd", { command: "./p" }, { canAsk, state: asked.state, answers });
    writeFileSync(join(app.root, "p"), "#!/bin/sh\necho B\n");
    symlinkSync(join(app.root, "p"), join(app.root, "q"));
    for (const command of ["./p", "./q", "./p x"])
      expect((await app.ask("run_cmd", { command }, { canAsk })).kind, command).toBe("error");
    expect((await app.ask("run_cmd", { command: "date" }, { canAsk })).kind).toBe("questions");
  });
});

describe("REQ-I4: refusals", () => {
  it("name the action that was refused in the command that explains it", async () => {
    const app = await openWith('@id("no-model") forbid(principal, action == Action::"ask_model", resource);');
    const served = app.core.serve(
      "invoke_agent",
      { caller: TEST_CALLER, correlationId: app.newId() },
      async () => "",
      { also: ["ask_model"] },
    );
    await expect(served).rejects.toMatchObject({
      message: "The policy no-model does not allow invoke_agent.",
      hint: expect.stringContaining("llmc policy explain ask_model shows why"),
    });
  });

  it("of an unlisted program that a policy forbids name the policy, not llmc allow", async () => {
    const app = await openWith('@id("no-date") forbid(principal, action, resource == Command::"date");');
    const result = await app.ask("run_cmd", { command: "date" }, { canAsk });
    expect(result).toMatchObject({
      kind: "error",
      error: {
        message: "The policy no-date does not allow date.",
        hint: expect.not.stringContaining("llmc allow"),
      },
    });
  });

  it("FAIL-H5: a policy that fails is named as that, and the log says how", async () => {
    const app = await openWith(
      '@id("adds") forbid(principal, action == Action::"stat", resource) when { 9223372036854775807 + 1 == 0 };',
    );
    for (let at = 0; at < 2; at++)
      expect(await app.ask("stat", { path: `${at}` })).toMatchObject({
        kind: "error",
        error: { message: "The policy adds failed, so that stat could not be decided on." },
      });
    expect((await app.logs()).match(/policy could not decide/g)).toHaveLength(1);
  });
});

describe("REQ-I4: a family adds to what a tool does", () => {
  const WIPE = `export const register = (kit) => {
  const tool = (name, family) => kit.tool({ name, family, description: name, effect: "write", input: kit.z.object({}), run: async () => 1, render: String });
  tool("admin_wipe", "admin");
  tool("wipe");
};`;

  it("an admin tool that writes needs the scope write, and an admin's permit or consent", async () => {
    const app = await openWith(
      'permit(principal == Principal::"local", action in Action::"admin", resource);',
      '[mcp.tools]\ncustom_modules = "mods"\n',
      { "mods/wipe.mjs": WIPE },
    );
    const caller = { ...TEST_CALLER, may: new Set(["read"]) };
    for (const tool of ["wipe", "admin_wipe"]) {
      expect(await app.ask(tool, {}, { caller }), tool).toMatchObject({
        kind: "error",
        error: { message: expect.stringContaining('lacks the scope "write"') },
      });
      expect((await app.ask(tool, {})).kind, tool).toBe("ok");
    }
    const other = { ...TEST_CALLER, principal: "token:ci:0" };
    expect((await app.ask("wipe", {}, { caller: other })).kind).toBe("ok");
    expect((await app.ask("admin_wipe", {}, { caller: other })).kind).toBe("error");
  });
});
