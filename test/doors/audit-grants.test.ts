import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { runLlmc } from "../command-line.ts";
import { launcher } from "../workspace.ts";
import { atTerminal, when } from "./at-terminal.ts";

const envOf = (root: string) => ({
  XDG_STATE_HOME: join(root, ".state"),
  XDG_CONFIG_HOME: join(root, ".config"),
});

const grantsIn = (root: string): readonly unknown[] =>
  readdirSync(join(root, ".llmc/audit"))
    .sort()
    .flatMap((name) =>
      readFileSync(join(root, ".llmc/audit", name), "utf8")
        .trimEnd()
        .split("\n"),
    )
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ kind }) => kind === "grant");

const GRANT = { principal: "local", transport: "cli", agent_id: "llmc-cli", scope: "always" };

test("REQ-O5 what llmc allow allows for good is recorded, what it only shows is not", async () => {
  const root = tempWorkspace();
  const llmc = (...args: readonly string[]) => runLlmc(root, args, { env: envOf(root) });
  await llmc("allow", "env", "--print");
  expect(existsSync(join(root, ".llmc/audit"))).toBe(false);
  expect((await llmc("allow", "env", "--yes")).code).toBe(0);
  const granted = [
    { ...GRANT, granted: "run_cmd_allowlist env" },
    { ...GRANT, granted: "command_powers env:run" },
  ];
  expect(grantsIn(root)).toMatchObject(granted);
  await llmc("allow", "env", "--yes");
  expect(grantsIn(root)).toHaveLength(2);
  expect((await llmc("audit", "show")).out).toMatch(/ grant .* command_powers env:run\n/);
  expect((await llmc("audit", "verify")).code).toBe(0);
});

test("REQ-O5 a person's always in llmc call is recorded", async () => {
  const root = tempWorkspace();
  const { code } = await atTerminal([launcher, "call", "run_cmd", "--args", '{"command":"date +%Y"}'], {
    cwd: root,
    env: envOf(root),
    type: when("[a]lways; [N]o?", "a\n"),
  });
  expect(code).toBe(0);
  expect(grantsIn(root)).toMatchObject([
    { ...GRANT, granted: expect.stringMatching(/^run_cmd_allowlist .*date$/) },
  ]);
});

test("REQ-O5 FAIL-D7 what cannot be recorded is not allowed", async () => {
  const root = tempWorkspace();
  mkdirSync(join(root, ".llmc"), { mode: 0o700 });
  writeFileSync(join(root, ".llmc/audit"), "not a folder");
  const { code, err } = await runLlmc(root, ["allow", "env", "--yes"], { env: envOf(root) });
  expect(code).not.toBe(0);
  expect(err).toContain("audit trail cannot be written");
  expect(existsSync(join(root, "llmc.toml"))).toBe(false);
});

test("REQ-O5 REQ-D22 what llmc trust grants and takes back is recorded, item by item", async () => {
  const root = tempWorkspace({
    "llmc.toml":
      '[mcp.tools]\nrun_cmd_allowlist = ["env", "ls"]\n[mcp.security]\npolicy_files = ["~/.config/llmc/policies/*.cedar", "p.cedar"]\n',
    "p.cedar": 'permit(principal, action in Action::"admin", resource);\n',
  });
  const llmc = (...args: readonly string[]) => runLlmc(root, args, { env: envOf(root) });
  expect((await llmc("trust", "--yes")).code).toBe(0);
  const policy = expect.stringMatching(/^mcp\.security\.policy_files p\.cedar sha256:[0-9a-f]{12}$/);
  expect(grantsIn(root)).toMatchObject([
    { ...GRANT, granted: "mcp.tools.run_cmd_allowlist env" },
    { ...GRANT, granted: policy },
  ]);
  writeFileSync(
    join(root, "llmc.toml"),
    '[mcp.tools]\nrun_cmd_allowlist = ["tar"]\n[mcp.security]\npolicy_files = ["~/.config/llmc/policies/*.cedar", "p.cedar"]\n',
  );
  expect((await llmc("trust", "--yes")).code).toBe(0);
  expect((await llmc("trust", "--revoke")).code).toBe(0);
  const REVOKED = { ...GRANT, scope: "revoked" };
  expect(grantsIn(root).slice(2)).toMatchObject([
    { ...GRANT, granted: "mcp.tools.run_cmd_allowlist tar" },
    { ...REVOKED, granted: "mcp.tools.run_cmd_allowlist env" },
    { ...REVOKED, granted: "mcp.tools.run_cmd_allowlist tar" },
    { ...REVOKED, granted: policy },
  ]);
  expect((await llmc("audit", "verify")).code).toBe(0);
});

test("REQ-D22 llmc allow and llmc init trust no policies of the workspace, which nobody was shown", async () => {
  const root = tempWorkspace({
    ".config/llmc/config.toml": '[mcp.security]\npolicy_files = ["p.cedar"]\n',
    "p.cedar": 'permit(principal, action in Action::"admin", resource);\n',
  });
  const llmc = (...args: readonly string[]) => runLlmc(root, args, { env: envOf(root) });
  expect((await llmc("allow", "env", "--yes")).code).toBe(0);
  expect((await llmc("policy", "check")).out).toContain("waits for trust");
});
