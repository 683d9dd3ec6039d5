import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { userFolders } from "../../src/config/user-folders.ts";
import { keepToken } from "../../src/host/own-files/token-store.ts";
import { tempWorkspace } from "../app.ts";
import { type Ended, runLlmc, startLlmc } from "../command-line.ts";
import { launcher } from "../workspace.ts";

const llmc = (
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
  input = "",
): Promise<Ended> => runLlmc(cwd, args, { env, input });

describe("the command line", () => {
  test("help and version; unknown words are refused with a way out", async () => {
    const root = tempWorkspace();
    const help = await llmc(root, ["--help"]);
    expect(help.code).toBe(0);
    for (const command of ["serve", "init", "config", "doctor", "tools", "call", "connect"])
      expect(help.out).toContain(command);
    expect((await llmc(root, ["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
    const unknown = await llmc(root, ["sevre"]);
    expect(unknown).toMatchObject({ code: 2, out: "" });
    expect(unknown.err.match(/--help shows/g)).toHaveLength(1);
    expect((await llmc(root, ["call", "nope"])).err).toContain("llmc tools");
    expect((await llmc(root, ["config", "get", "mcp.mode"])).out).toContain("mcp.mode");
    expect((await llmc(root, ["serve"])).err).toContain("--stdio or --http");
    expect((await llmc(root, ["tools", "--mode", "fancy"])).code).toBe(2);
    expect((await llmc(root, ["tools", "--root", "/no/such/folder"])).err).toContain("does not exist");
    expect((await llmc(root, ["tools", "--set", "mcp.mode"])).code).toBe(2);
  });

  test("REQ-D7: tools shows what a client sees in each mode, with its cost", async () => {
    const root = tempWorkspace();
    const { out } = await llmc(root, ["tools"]);
    expect(out).toMatch(/^classic: \d+ tools, \d+ tokens, \d+ bytes$/m);
    expect(out).toMatch(/^hybrid \(current\): \d+ tools, \d+ tokens/m);
    const costs = JSON.parse((await llmc(root, ["tools", "--json", "--mode", "classic"])).out);
    expect(costs).toMatchObject([
      { mode: "classic", tools: expect.arrayContaining([expect.objectContaining({ name: "stat" })]) },
    ]);
  });

  test("call: the result on stdout, a failure on stderr with the exit code of its kind", async () => {
    const root = tempWorkspace({ "a.txt": "hello\n", ".env": "X=1" });
    expect(await llmc(root, ["call", "read_file", "--args", '{"path":"a.txt"}'])).toEqual({
      code: 0,
      out: "hello\n",
      err: "",
    });
    expect((await llmc(root, ["call", "read_file", "--args", "-"], {}, '{"path":"a.txt"}')).out).toBe(
      "hello\n",
    );
    const structured = await llmc(root, ["call", "stat", "--json", "--args", '{"path":"a.txt"}']);
    expect(JSON.parse(structured.out)).toMatchObject({ data: { size: 6, type: "file" } });
    expect((await llmc(root, ["call", "stat", "--args", '{"path":"a.txt"}', "--json"])).out).toBe(
      structured.out,
    );
    const cases: readonly (readonly [string, string, number])[] = [
      ["read_file", '{"path":"nope"}', 5],
      ["read_file", '{"path":"../x"}', 4],
      ["read_file", '{"path":".env"}', 4],
      ["read_file", '{"limit":1}', 2],
      ["read_file", "{broken", 2],
      ["no_such_tool", "{}", 2],
    ];
    for (const [tool, json, code] of cases) {
      const run = await llmc(root, ["call", tool, "--args", json]);
      expect([run.code, run.out]).toEqual([code, ""]);
      expect(run.err).toMatch(/^llmc: /);
    }
  });

  test.each([
    [["kb", "status"], "llmc kb --help shows its commands."],
    [["rlm", "query", "x", "FILE"], "llmc rlm query --help shows its arguments and options."],
    [["nope"], "llmc --help shows the commands"],
  ])("a usage error names the help of the command that was typed: %j", async (args, hint) => {
    const { code, err } = await llmc(tempWorkspace(), args);
    expect(code).toBe(2);
    expect(err).toContain(hint);
  });

  test("call takes its arguments by the earlier spelling, --json, too", async () => {
    const root = tempWorkspace({ "a.txt": "hello\n" });
    const given = '{"path":"a.txt"}';
    expect((await llmc(root, ["call", "read_file", "--json", given])).out).toBe("hello\n");
    expect((await llmc(root, ["call", "read_file", "--json", "-"], {}, given)).out).toBe("hello\n");
    const structured = await llmc(root, ["call", "stat", "--structured", "--json", given]);
    expect(JSON.parse(structured.out)).toMatchObject({ data: { size: 6 } });
  });

  test("--json is about the output, in every command that has it", async () => {
    const root = tempWorkspace({ "a.ts": "export const answer = 42;\nanswer;\n" });
    const commands = [
      ["config", "show"],
      ["config", "validate"],
      ["config", "explain", "mcp.mode"],
      ["repo", "validate"],
      ["trust", "--list"],
      ["doctor"],
      ["tools"],
      ["usage"],
      ["locks"],
      ["quarantine"],
      ["index"],
      ["search", "answer"],
      ["where-used", "answer"],
      ["inspect", "answer"],
      ["call", "health"],
    ];
    for (const command of commands) {
      const { out, code } = await llmc(root, [...command, "--json"]);
      expect([command, code, typeof JSON.parse(out)]).toEqual([command, 0, "object"]);
    }
    expect((await llmc(root, ["where-used", "answer", "--limit", "0"])).err).toContain("limit");
  });

  test("REQ-R4: search takes a report out of a file or from stdin", async () => {
    const report = `Opening fails\nIt says so for every path, whether there is something at it or not, and nothing else happens.\n\n  File "/usr/lib/site-packages/pkg/store.py", line 9, in open_store\nValueError: x\n`;
    const root = tempWorkspace({
      "pkg/store.py": "def open_store(path):\n    return path\n",
      "pkg/other.py": "def mix(a, b):\n    return a\n",
      "report.md": report,
    });
    const asked = await llmc(root, ["search", "--file", "report.md", "--scope", "repo"]);
    expect([asked.code, asked.err]).toEqual([0, ""]);
    expect(asked.out).toMatch(/^pkg\/store\.py#L1-L2/);
    const piped = await llmc(root, ["search", "--file", "-", "--scope", "repo"], {}, report);
    expect(piped.out).toBe(asked.out);
    const long = await llmc(
      root,
      ["search", "--file", "-", "--scope", "repo"],
      {},
      report + "x ".repeat(20_000),
    );
    expect(long.err).toBe("note: only the first 32768 characters are read.\n");
    for (const args of [["search"], ["search", "x", "--file", "report.md"], ["search", "--file", "nope.md"]])
      expect(await llmc(root, args)).toMatchObject({ code: 2, out: "" });
  });

  test("REQ-D21: a file without a mode: tools and doctor say so with both prices", async () => {
    const root = tempWorkspace({ "llmc.toml": "[mcp]\n" });
    const notice =
      /names no mode, so the mode is classic \(\d+ tools, \d+ tokens\).*hybrid.*\(8 tools, \d+ tokens\)/;
    expect((await llmc(root, ["tools"])).err).toMatch(notice);
    expect((await llmc(root, ["doctor"])).out).toMatch(notice);
    expect((await llmc(tempWorkspace(), ["tools"])).err).toBe("");
    expect((await llmc(tempWorkspace(), ["doctor"])).out).toMatch(/mode +hybrid: 8 tools, \d+ tokens/);
  });

  test("an unknown mode is an error that names the modes", async () => {
    expect((await llmc(tempWorkspace(), ["tools", "--mode", "fancy"])).err).toContain(
      "classic, hybrid, code_execution.",
    );
  });

  test("REQ-C8: call shows what an upgrade changed, and a hint to trust carries the workspace", async () => {
    const root = tempWorkspace({
      "llmc.toml": '[mcp.docker]\ndata_volume = "/x"\n[mcp.tools]\nrun_cmd_allowlist = ["ls", "make"]\n',
    });
    const inside = await llmc(root, ["call", "health"]);
    expect(inside.code).toBe(0);
    expect(inside.err).toContain("mcp.docker was removed, because");
    expect(inside.err).toMatch(/\(llmc trust shows and grants it\)/);
    const outside = await llmc("/", ["call", "run_cmd", "--root", root, "--args", '{"command":"make x"}'], {
      HOME: root,
    });
    expect(outside.err).toContain(`(llmc trust --root ${root} shows and grants it)`);
    expect(outside.err).toMatch(new RegExp(`run llmc trust --root ${root}\\b`));
  });

  test("REQ-C6: config explain works with a broken file", async () => {
    const root = tempWorkspace({ "llmc.toml": "[mcp\n" });
    const run = await llmc(root, ["config", "explain", "mcp.server.port"]);
    expect(run).toMatchObject({ code: 0, out: expect.stringContaining("default   8080") });
    expect(run.err).toContain("llmc.toml:1");
  });

  test("REQ-C6: init is short, --all has every key, --print writes nothing", async () => {
    const root = tempWorkspace();
    const short = (await llmc(root, ["init", "--print"])).out;
    const all = (await llmc(root, ["init", "--all", "--print"])).out;
    expect(existsSync(join(root, "llmc.toml"))).toBe(false);
    expect(short.split("\n").length).toBeLessThan(40);
    expect(all).toContain("rate_limit_rps");
    expect(short).not.toContain("rate_limit_rps");
    expect((await llmc(root, ["init", "--all"])).code).toBe(0);
    expect(readFileSync(join(root, "llmc.toml"), "utf8")).toBe(all);
  });

  test("token prints the one that serve --generate-token uses, and the environment's where it is set", async () => {
    const root = tempWorkspace();
    const missing = await llmc(root, ["token"]);
    expect(missing.out).toBe("");
    expect(missing.err).toContain("No token was made for this workspace.\n");
    expect(missing.err).toContain("llmc serve --http --generate-token");
    expect(missing.code).toBe(5);
    keepToken(
      userFolders({ HOME: root }, root).state,
      root,
      () => "a-token-as-the-server-makes-them-0123456789",
    );
    const first = (await llmc(root, ["token"])).out;
    expect(first).toMatch(/^[\w-]{32,}\n$/);
    expect((await llmc(root, ["token"])).out).toBe(first);
    expect((await llmc(root, ["token"], { LLMC_MCP_TOKEN: "mine" })).out).toBe("mine\n");
  });

  test("a reader that has seen enough is no error", async () => {
    const root = tempWorkspace();
    for (const command of ["tools", "config show --origin", "init --all --print"]) {
      const script = `'${launcher}' ${command} | true; '${launcher}' ${command} | head -1`;
      const { err } = await startLlmc(root, ["-c", script], {}, "/bin/sh");
      expect(err).toBe("");
    }
  });

  test("REQ-C6: init writes a commented file once; config validates, shows and explains it", async () => {
    const root = tempWorkspace();
    expect((await llmc(root, ["config", "validate"])).out).toContain("the defaults apply");
    expect((await llmc(root, ["init"])).code).toBe(0);
    const written = readFileSync(join(root, "llmc.toml"), "utf8");
    expect(written).toContain('mode = "hybrid"');
    const again = await llmc(root, ["init"]);
    expect(again.code).toBe(2);
    expect(readFileSync(join(root, "llmc.toml"), "utf8")).toBe(written);
    expect((await llmc(root, ["config", "validate"])).out).toContain("is valid");
    expect((await llmc(root, ["config", "explain", "mcp.tools.allowed_roots"])).out).toContain(
      "LLMC_MCP_TOOLS_ALLOWED_ROOTS",
    );
    expect((await llmc(root, ["config", "explain", "mcp.tols"])).code).toBe(2);
    const explained = await llmc(root, ["config", "explain", "mcp.mode"]);
    expect(await llmc(root, ["config", "show", "mcp.mode"])).toEqual(explained);
    expect(await llmc(root, ["config", "mcp.mode"])).toEqual(explained);
  });

  test("REQ-C2 REQ-C3: flags over variables over the file, and show says so", async () => {
    const root = tempWorkspace({ "llmc.toml": '[mcp.server]\nport = 1111\nhost = "127.0.0.1"\n' });
    const env = { LLMC_MCP_SERVER_PORT: "2222" };
    const origins = (
      await llmc(root, ["config", "show", "--origin", "--set", "mcp.server.host=localhost"], env)
    ).out;
    expect(origins).toMatch(/port += 2222 .*LLMC_MCP_SERVER_PORT/);
    expect(origins).toMatch(/host += "localhost" .*--set/);
    expect((await llmc(root, ["config", "show", "--origin"])).out).toMatch(
      /port += 8080 .*default; 1111 in the file waits for llmc trust/,
    );
    await llmc(root, ["trust", "--yes"]);
    expect((await llmc(root, ["config", "show", "--origin"])).out).toMatch(/port += 1111 .*llmc\.toml:2/);
    const json = JSON.parse(
      (await llmc(root, ["config", "show", "--json"], { ...env, LLMC_CONFIG: join(root, "llmc.toml") })).out,
    );
    expect(json.values["mcp.server.port"]).toBe(2222);
  });

  test("REQ-C4 FAIL-C7: a wrong config stops every command with file, line, key and the key that was meant", async () => {
    const root = tempWorkspace({ "llmc.toml": '[mcp.tools]\n\nrun_cmd_allow_list = ["ls"]\n' });
    for (const args of [["tools"], ["serve", "--http"], ["config", "validate"], ["call", "health"]]) {
      const run = await llmc(root, args);
      expect(run.code).toBe(3);
      expect(run.err).toContain("llmc.toml:3");
      expect(run.err).toContain("run_cmd_allow_list");
      expect(run.err).toContain("mcp.tools.run_cmd_allowlist");
    }
    const doctor = await llmc(root, ["doctor"]);
    expect(doctor.code).toBe(9);
    expect(doctor.out).toContain("run_cmd_allowlist");
  });

  test("doctor shows what works and how to fix the rest", async () => {
    const root = tempWorkspace();
    const { code, out } = await llmc(root, ["doctor"]);
    expect(code).toBe(0);
    expect(out).toContain("race-free");
    const { healthy, findings } = JSON.parse((await llmc(root, ["doctor", "--json"])).out);
    expect(healthy).toBe(true);
    for (const finding of findings)
      expect(finding).toMatchObject({
        name: expect.any(String),
        state: expect.stringMatching(/good|weak|bad/),
      });
  });

  test("REQ-P3: connect shows the change, writes only when told to, and can be undone", async () => {
    const root = tempWorkspace({ ".mcp.json": '{\n  "mcpServers": { "other": { "command": "x" } }\n}\n' });
    const file = join(root, ".mcp.json");
    const before = readFileSync(file, "utf8");
    const shown = await llmc(root, ["connect", "claude-code"]);
    expect(shown.code).toBe(2);
    expect(shown.out).toContain("+");
    expect(readFileSync(file, "utf8")).toBe(before);
    expect((await llmc(root, ["connect", "claude-code", "--yes"])).code).toBe(0);
    const after = JSON.parse(readFileSync(file, "utf8"));
    expect(after.mcpServers.other).toEqual({ command: "x" });
    expect(after.mcpServers.llmc).toMatchObject({ args: ["serve", "--stdio"] });
    expect(existsSync(after.mcpServers.llmc.command)).toBe(true);
    expect((await llmc(root, ["connect", "claude-code", "--yes"])).out).toContain("needs no change");
    expect((await llmc(root, ["connect", "claude-code", "--yes", "--remove"])).code).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(JSON.parse(before));
    expect((await llmc(root, ["connect", "claude-cod"])).err).toContain("claude-code");
    const bare = await llmc(root, ["connect"]);
    expect(bare.code).toBe(2);
    expect(bare.err).toMatch(/No client was named\.\n.*Known clients: claude-code, .*jetbrains/);
    expect((await llmc(root, ["connect", "codex", "--print"])).out).toContain("[mcp_servers.llmc]");
  });

  test("the launcher works through links and from any folder", async () => {
    const root = tempWorkspace();
    symlinkSync(launcher, join(root, "first"));
    symlinkSync("first", join(root, "second"));
    expect((await startLlmc(root, ["--version"], {}, join(root, "second"))).code).toBe(0);
    expect((await startLlmc("/", ["--version"])).code).toBe(0);
    symlinkSync(dirname(launcher), join(root, "bin"));
    expect((await startLlmc(root, ["--version"], {}, join(root, "bin/llmc"))).code).toBe(0);
  });

  test("a process of its own reads stdin, writes stdout and stderr, and ends with the exit code", async () => {
    const root = tempWorkspace({ "a.txt": "hello\n" });
    const read = await startLlmc(root, ["call", "read_file", "--args", "-"], { input: '{"path":"a.txt"}' });
    expect(read).toEqual({ code: 0, out: "hello\n", err: "" });
    expect(await startLlmc(root, ["call", "read_file", "--args", '{"path":"../x"}'])).toMatchObject({
      code: 4,
      out: "",
      err: expect.stringMatching(/^llmc: /),
    });
    expect(await startLlmc(root, ["sevre"])).toMatchObject({ code: 2, out: "" });
    expect((await startLlmc(root, ["--help"])).out).toContain("where-used");
    const broken = tempWorkspace({ "llmc.toml": "[mcp\n" });
    expect(await startLlmc(broken, ["doctor"])).toMatchObject({ code: 9, err: "" });
    expect(await startLlmc(broken, ["serve", "--stdio"])).toMatchObject({ code: 3, out: "" });
  });
});
