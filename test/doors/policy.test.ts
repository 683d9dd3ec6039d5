import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { runLlmc, startLlmc } from "../command-line.ts";

const NO_NPM =
  '@id("no-npm")\nforbid(\n  principal == Principal::"ci",\n  action == Action::"start_program",\n  resource == Command::"npm"\n);\n';
const ADMIN = '@id("ops")\npermit(principal == Principal::"ops", action in Action::"admin", resource);\n';

/** A workspace and an operator with policies of their own. */
const createUser = (
  policies: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
) => {
  const home = tempWorkspace();
  const root = tempWorkspace(files);
  const folder = join(home, ".config/llmc/policies");
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(policies)) write(name, text);
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, ".config"), XDG_STATE_HOME: join(home, ".state") };
  return { root, folder, write, llmc: (...args: string[]) => runLlmc(root, args, { env }), env };
};

describe("REQ-I4: llmc policy check", () => {
  it("lists the policies in force, with warnings and what waits", async () => {
    const { llmc, folder } = createUser(
      {
        "a.cedar": `// mine\n${NO_NPM}`,
        "b.cedar": 'permit(principal in Agent::"x", action in Action::"admin", resource);',
      },
      {
        "policies/w.cedar": ADMIN,
        "llmc.toml":
          '[mcp.security]\npolicy_files = ["~/.config/llmc/policies/*.cedar", "policies/*.cedar"]\n',
      },
    );
    const { out, code } = await llmc("policy", "check");
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^no-npm +forbid +${folder}/a.cedar:2$`, "m"));
    expect(out).toMatch(/^ops +permit +policies\/w.cedar:1 {2}waits for trust \(llmc trust\)$/m);
    expect(out).toContain(`${folder}/b.cedar:1:1: warning: Agent, Session and context.profile are labels`);
    expect(out).toContain("3 files, 3 policies: no errors.");
    const json = JSON.parse((await llmc("policy", "check", "--json")).out);
    expect(json).toMatchObject({ ok: true, problems: [], warnings: [{ line: 1, column: 1 }] });
    const trusted = await llmc("trust", "--yes");
    expect(trusted.out).toMatch(
      /policies, which may then permit[^\n]*\n {4}[0-9a-f]{12} {2}policies\/w\.cedar \(not granted\)/,
    );
    expect((await llmc("policy", "check")).out).not.toContain("waits");
    expect((await llmc("repo", "validate")).out).toContain("policies/w.cedar (already granted)");
  });

  it("FAIL-H5: an error has file, line and column, and an exit code; so do files that are named", async () => {
    const { llmc, root, folder, write } = createUser({
      "a.cedar": "forbid(principal, action, resource)\nwhen { == };",
    });
    const { out, code } = await llmc("policy", "check");
    expect(code).not.toBe(0);
    expect(out).toContain(`${folder}/a.cedar:2:8: error: unexpected token`);
    writeFileSync(join(root, "draft.cedar"), "permit(principal, action, resource);");
    const draft = await llmc("policy", "check", "draft.cedar", "--json");
    expect(draft.code).not.toBe(0);
    expect(JSON.parse(draft.out)).toMatchObject({
      ok: false,
      problems: [{ file: "draft.cedar", line: 1, column: 1 }],
    });
    writeFileSync(join(root, "draft.cedar"), ADMIN);
    expect(await llmc("policy", "check", "draft.cedar")).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 file, 1 policy: no errors."),
    });
    expect((await llmc("policy", "check", "gone.cedar")).out).toContain(
      "gone.cedar: error: there is no such file",
    );
    const doctor = await llmc("doctor", "--json");
    expect(JSON.parse(doctor.out).findings).toContainEqual(
      expect.objectContaining({
        name: "policies",
        state: "bad",
        detail: expect.stringContaining("a.cedar:2:8"),
      }),
    );
    const validated = await llmc("repo", "validate");
    expect(validated.code).toBe(3);
    expect(validated.err).toContain(`error: ${folder}/a.cedar:2:8: unexpected token`);
    expect(JSON.parse((await llmc("repo", "validate", "--json")).out).policy_problems).toHaveLength(1);
    write("a.cedar", NO_NPM);
    expect(await llmc("repo", "validate")).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse((await llmc("doctor", "--json")).out).findings).toContainEqual(
      expect.objectContaining({ name: "policies", state: "good", detail: "1 besides the defaults" }),
    );
  });

  it("a policy about programs of one tool is warned of, because it never applies", async () => {
    const { llmc } = createUser({
      "a.cedar": 'forbid(principal, action == Action::"run_cmd", resource == Command::"npm");',
    });
    expect((await llmc("policy", "check")).out).toContain(
      "warning: this never applies: no request has this pair of action and resource; a Command is decided on by start_program",
    );
  });

  it("without policies it says so", async () => {
    expect((await createUser({}).llmc("policy", "check")).out).toContain("the defaults alone are in force");
  });
});

describe("REQ-I4: llmc policy explain", () => {
  const explain = async (user: ReturnType<typeof createUser>, ...args: string[]) => {
    const { out, err, code } = await user.llmc("policy", "explain", ...args, "--json");
    expect({ err, code }).toEqual({ err: "", code: 0 });
    return JSON.parse(out).decisions as readonly Record<string, unknown>[];
  };

  it("names the policies, where they stand and what they mean", async () => {
    const user = createUser({ "a.cedar": NO_NPM + ADMIN });
    const forbidden = await explain(user, "run_cmd", "--program", "npm", "--principal", "ci");
    expect(forbidden).toEqual([
      {
        about: "run_cmd",
        outcome: "allow",
        policies: [{ id: "llmc.workspace", location: "built in" }],
        meaning: "The call goes on.",
      },
      {
        about: "run_cmd starts npm",
        outcome: "deny",
        policies: [{ id: "no-npm", location: `${user.folder}/a.cedar:1` }],
        meaning: "The operator removes or narrows the policy that forbids it; no permit lifts it.",
      },
    ]);
    expect((await explain(user, "run_cmd", "--program", "npm"))[1]).toMatchObject({
      outcome: "ask",
      meaning: expect.stringMatching(
        /^The user is asked: "Allow this command\?".* llmc allow npm permits it/,
      ),
    });
    // The tool alone is allowed, which says nothing about the flow.
    const asked = { outcome: "ask", meaning: expect.stringContaining('"Allow flow execution?"') };
    expect((await explain(user, "kb_compose_flow"))[1]).toMatchObject({
      about: "kb_compose_flow runs any flow (--flow names one)",
      ...asked,
    });
    expect((await explain(user, "kb_compose_flow", "--flow", "x"))[1]).toMatchObject({
      about: "kb_compose_flow runs the flow x",
      ...asked,
    });
    expect((await explain(user, "run_cmd", "--program", "ls"))[1]).toMatchObject({ outcome: "allow" });
    expect((await explain(user, "run_cmd", "--program", "git", "--power", "git:write"))[1]).toMatchObject({
      outcome: "ask",
      meaning: expect.stringContaining("llmc allow git:write"),
    });
    expect((await explain(user, "run_cmd", "--program", "npm", "--granted"))[1]).toMatchObject({
      outcome: "allow",
    });
    expect((await explain(user, "linux_fs_write", "--principal", "x", "--scopes", "read"))[0]).toMatchObject({
      outcome: "deny",
      policies: [{ id: "llmc.scope.write" }],
      meaning: 'The caller lacks the scope "write": the operator grants it in mcp.auth.tokens.',
    });
    const text = await user.llmc("policy", "explain", "run_cmd", "--program", "npm", "--principal", "ci");
    expect(text.out).toContain(`run_cmd starts npm: refused\n  by no-npm (${user.folder}/a.cedar:1)\n`);
  });

  it("admin tools: asked for by default, allowed by a permit", async () => {
    const user = createUser({ "a.cedar": ADMIN });
    expect((await explain(user, "admin_get_status"))[0]).toMatchObject({
      outcome: "ask",
      meaning: expect.stringContaining("Allow admin access?"),
    });
    expect((await explain(user, "admin_get_status", "--principal", "ops"))[0]).toMatchObject({
      outcome: "allow",
    });
  });

  it("FAIL-H5: broken policies and unknown tools are said to be that", async () => {
    const user = createUser({ "a.cedar": "nonsense" });
    expect((await explain(user, "stat"))[0]).toMatchObject({
      outcome: "deny",
      meaning: expect.stringContaining("until a.cedar:1:9 is fixed"),
    });
    const unknown = await user.llmc("policy", "explain", "statt");
    expect(unknown).toMatchObject({ err: expect.stringContaining("Did you mean stat?") });
    expect(unknown.code).not.toBe(0);
  });
});

const CASES = [
  { principal: "ci", action: "start_program", resource: 'Command::"npm"', expect: "deny" },
  { principal: "ci", action: "start_program", resource: 'Command::"git"', expect: "allow" },
  { action: "start_program", resource: { type: "Command", id: "x", allowlisted: false }, expect: "ask" },
  { principal: { id: "ro", scopes: ["read"] }, action: "linux_fs_write", expect: "deny" },
  { action: "read_file", resource: { type: "File", id: "/x" }, expect: "ask" },
  { action: "read_file", resource: 'File::"/x"', context: { granted: true }, expect: "allow" },
  { action: "ask_model", resource: 'Host::"api.example.com"', expect: "allow" },
  { action: "ask_model", resource: { type: "Host", id: "x", listed: false }, expect: "deny" },
];

describe("REQ-I4: llmc policy test", () => {
  it("passes and fails with an exit code, from JSON and TOML", async () => {
    const { llmc, root } = createUser({ "a.cedar": NO_NPM });
    writeFileSync(join(root, "t.json"), JSON.stringify(CASES));
    expect(await llmc("policy", "test", "t.json")).toMatchObject({
      code: 0,
      out: "8 cases, all as expected.\n",
    });
    writeFileSync(
      join(root, "t.toml"),
      '[[cases]]\nname = "npm of ci"\nprincipal = "ci"\naction = "start_program"\nresource = \'Command::"npm"\'\nexpect = "allow"\n',
    );
    const failed = await llmc("policy", "test", "t.toml");
    expect(failed.code).not.toBe(0);
    expect(failed.out).toBe("FAIL  npm of ci: expected allow, is deny (by no-npm)\n1 of 1 case failed.\n");
  });

  test.each([
    ["no cases", [], "holds no cases"],
    ["a misspelt field", [{ action: "stat", expect: "allow", contxt: {} }], "no field contxt"],
    [
      "a misspelt attribute",
      [{ action: "stat", expect: "deny", context: { grantd: true } }],
      "no field grantd",
    ],
    ["a wrong type", [{ action: "stat", expect: "deny", principal: { scopes: "read" } }], "list of strings"],
    ["an unknown tool", [{ action: "statt", expect: "deny" }], "Did you mean stat?"],
    [
      "programs by a tool's name",
      [{ action: "run_cmd", resource: 'Command::"x"', expect: "deny" }],
      "never decided on with a Command",
    ],
    [
      "an attribute of another type",
      [{ action: "ask_model", resource: { type: "Host", id: "x", allowlisted: true }, expect: "deny" }],
      "no field allowlisted",
    ],
    ["an unknown type", [{ action: "stat", resource: 'Nothing::"x"', expect: "deny" }], "no type Nothing"],
    [
      "an unknown action",
      [{ name: "second", action: "reed_file", expect: "deny" }],
      'second: There is no tool "reed_file".',
    ],
    ["an unknown outcome", [{ action: "stat", expect: "maybe" }], "allow, deny or ask"],
  ])("%s is an error, not a test that passes", async (_what, cases, message) => {
    const { llmc, root } = createUser({});
    writeFileSync(join(root, "t.json"), JSON.stringify(cases));
    const { code, err } = await llmc("policy", "test", "t.json");
    expect(code).not.toBe(0);
    expect(err).toContain(message);
  });

  it("FAIL-H5: broken policies are not tested", async () => {
    const { llmc, root } = createUser({ "a.cedar": "" });
    writeFileSync(join(root, "t.json"), JSON.stringify([{ action: "stat", expect: "deny" }]));
    expect((await llmc("policy", "test", "t.json")).code).not.toBe(0);
  });
});

it("REQ-C5: llmc policy alone shows what it can do", async () => {
  const { root, env } = createUser({});
  const { out, err } = await startLlmc(root, ["policy"], { env });
  expect(out + err).toMatch(/^ {2}check .*^ {2}explain .*^ {2}test /ms);
});

it("REQ-I4: the samples of the guide are valid, and its tests come out as they say", async () => {
  const guide = readFileSync(new URL("../../docs/guides/policy.md", import.meta.url), "utf8");
  const samples = (language: string): readonly string[] =>
    [...guide.matchAll(new RegExp(`^\\\`{3}${language}\\n(.*?)^\\\`{3}$`, "gms"))].map(
      ([, text = ""]) => text,
    );
  const cedar = samples("cedar");
  expect(cedar).toHaveLength(7);
  const { llmc, root } = createUser(Object.fromEntries(cedar.map((text, at) => [`${at}.cedar`, text])));
  const checked = JSON.parse((await llmc("policy", "check", "--json")).out);
  expect(checked).toMatchObject({ ok: true, warnings: [] });
  writeFileSync(join(root, "cases.json"), samples("json")[0] ?? "");
  expect(await llmc("policy", "test", "cases.json")).toMatchObject({ code: 0, err: "" });
});

describe("REQ-I4: what explain says of paths and knowledge bases is what the server does", () => {
  const POLICY =
    '@id("not-for-ci") forbid(principal == Principal::"ci", action, resource == Collection::"pay");';
  const explain = async (user: ReturnType<typeof createUser>, ...args: string[]) =>
    JSON.parse((await user.llmc("policy", "explain", ...args, "--json")).out).decisions.at(-1);

  it("a path inside the roots is no question of policy, and a secret by name is refused below it", async () => {
    const user = createUser({}, { "a.md": "a", "key.pem": "k" });
    const inside = await explain(user, "read_file", "--path", "a.md");
    expect(inside).toMatchObject({ outcome: "allow", meaning: expect.stringContaining("lies in the roots") });
    const secret = await explain(user, "read_file", "--path", "key.pem");
    expect(secret).toMatchObject({ outcome: "deny", meaning: expect.stringContaining("on the denylist") });
    expect(await explain(user, "read_file", "--path", "/etc/hosts")).toMatchObject({ outcome: "ask" });
    const outside = join(tempWorkspace({ "key.pem": "k" }), "key.pem");
    expect(await explain(user, "read_file", "--path", outside)).toMatchObject({ outcome: "deny" });
  });

  it("an option that the tool is never decided on with is refused, not passed over", async () => {
    const user = createUser({});
    const written = await user.llmc("policy", "explain", "linux_fs_write", "--path", "/etc/hosts");
    expect(written.out).not.toContain("allowed");
    expect(written).toMatchObject({ code: 2, err: expect.stringContaining("Only tools that read") });
    expect(await user.llmc("policy", "explain", "stat", "--collection", "x")).toMatchObject({ code: 2 });
  });

  it("a knowledge base, and the refusal names the command that shows why, with the caller", async () => {
    const user = createUser({ "a.cedar": POLICY });
    expect(await explain(user, "kb_stats", "--collection", "pay")).toMatchObject({ outcome: "allow" });
    expect(await explain(user, "kb_stats", "--collection", "pay", "--principal", "ci")).toMatchObject({
      outcome: "deny",
      policies: [{ id: "not-for-ci" }],
    });
  });
});

describe("REQ-I4: what explain says is what the server does", () => {
  const agree = async (policy: string, program: string, outcome: string, config = "") => {
    const user = createUser({ "a.cedar": policy }, { "llmc.toml": config });
    if (config !== "") await user.llmc("trust", "--yes");
    const explained = JSON.parse(
      (await user.llmc("policy", "explain", "run_cmd", "--program", program, "--json")).out,
    ).decisions.at(-1);
    expect(explained.outcome).toBe(outcome);
    const args = JSON.stringify({ command: `${program} --version` });
    const called = await user.llmc("call", "run_cmd", "--args", args);
    expect(called.code === 0, called.err).toBe(outcome === "allow");
    return { explained, called, user };
  };

  it("a policy about the file behind a link", async () => {
    const real = realpathSync("/usr/bin/diff");
    const link = join(tempWorkspace(), "compare");
    symlinkSync(real, link);
    const { explained, called } = await agree(
      `@id("no-real") forbid(principal, action, resource == Command::"${basename(real)}");`,
      link,
      "deny",
      `[mcp.tools]\nrun_cmd_allowlist = ["${link}"]\n`,
    );
    expect(explained.policies).toMatchObject([{ id: "no-real" }]);
    expect(called.err).toContain("The policy no-real does not allow compare");
  });

  it("a program by its path", async () => {
    await agree(NO_NPM, "/usr/bin/diff", "allow");
  });

  it("a listed program that a policy asks about", async () => {
    const { explained, user } = await agree(
      '@prompt("Really?") forbid(principal, action, resource == Command::"diff") unless { context.granted };',
      "diff",
      "ask",
    );
    expect(explained.meaning).toBe('The user is asked: "Really?" A client that cannot ask gets a refusal.');
    const granted = await user.llmc(
      "policy",
      "explain",
      "run_cmd",
      "--program",
      "diff",
      "--granted",
      "--json",
    );
    expect(JSON.parse(granted.out).decisions.at(-1).outcome).toBe("allow");
  });

  it("a program that does not exist is refused without a question", async () => {
    const { explained } = await agree(NO_NPM, "no-such-program-at-all", "deny");
    expect(explained.meaning).toContain("not among the programs that may be run");
  });

  it("whoever needs no token has the effects of tools, and no scope of tokens", async () => {
    const user = createUser({
      "a.cedar":
        'permit(principal, action in Action::"admin", resource) when { principal.scopes.contains("admin") };',
    });
    const explained = JSON.parse((await user.llmc("policy", "explain", "admin_get_status", "--json")).out);
    expect(explained.decisions[0].outcome).toBe("ask");
    expect((await user.llmc("call", "admin_get_status")).err).toContain("No policy permits admin_get_status");
  });

  it("a token without the scope admin is not asked, and where it is the same with escalation_prompts", async () => {
    const user = createUser({}, { "llmc.toml": `[mcp.auth]\ntokens = ["ci read,execute env:CI_TOKEN"]\n` });
    await user.llmc("trust", "--yes");
    const explain = async (...more: string[]) =>
      JSON.parse((await user.llmc("policy", "explain", "admin_get_status", ...more, "--json")).out)
        .decisions[0];
    expect(await explain("--principal", "ci")).toMatchObject({
      outcome: "deny",
      meaning: expect.stringContaining('only a token with the scope "admin" is asked'),
    });
    expect(await explain("--set", "mcp.security.escalation_prompts=false")).toMatchObject({
      outcome: "deny",
      meaning: expect.stringContaining("escalation_prompts is false"),
    });
  });

  it("hosts and paths", async () => {
    const user = createUser({
      "a.cedar": '@id("no-cloud") forbid(principal, action, resource == Host::"api.example.com");',
    });
    const explain = async (...args: string[]) =>
      JSON.parse((await user.llmc("policy", "explain", ...args, "--json")).out).decisions[1];
    expect(await explain("ask_model", "--host", "api.example.com")).toMatchObject({
      outcome: "deny",
      policies: [{ id: "no-cloud" }],
    });
    expect(await explain("ask_model", "--host", "127.0.0.1")).toMatchObject({ outcome: "allow" });
    expect(await explain("ask_model", "--host", "elsewhere.example.com")).toMatchObject({
      outcome: "deny",
      policies: [],
    });
    expect(await explain("read_file", "--path", "/etc/hostname")).toMatchObject({ outcome: "ask" });
    expect((await user.llmc("policy", "explain", "start_program")).err).toContain(
      "decided on with a Command",
    );
  });
});

it("REQ-D22: policies that the user's own file takes from workspaces are trusted without a file of the workspace", async () => {
  const user = createUser({}, { "pol/a.cedar": ADMIN });
  writeFileSync(join(user.folder, "../config.toml"), '[mcp.security]\npolicy_files = ["pol/*.cedar"]\n');
  expect((await user.llmc("policy", "check")).out).toContain("waits for trust");
  expect((await user.llmc("repo", "validate")).out).toContain("pol/a.cedar (not granted)");
  const doctor = JSON.parse((await user.llmc("doctor", "--json")).out);
  expect(doctor.findings).toContainEqual(
    expect.objectContaining({
      name: "trust",
      detail: expect.stringContaining('the policies of "pol/a.cedar"'),
    }),
  );
  expect((await user.llmc("trust", "--yes")).out).toMatch(/[0-9a-f]{12} {2}pol\/a\.cedar \(not granted\)/);
  expect((await user.llmc("policy", "check")).out).not.toContain("waits");
  expect((await user.llmc("trust", "--list")).out).toMatch(/\n {2}1 file by content\n/);
  expect((await user.llmc("trust")).out).toContain("there is nothing to trust");
  expect((await user.llmc("trust", "--revoke")).code).toBe(0);
  expect((await user.llmc("policy", "check")).out).toContain("waits for trust");
});
