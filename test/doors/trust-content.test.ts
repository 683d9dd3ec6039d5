import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestApp, type TestApp, tempWorkspace } from "../app.ts";
import { runLlmc, startLlmc } from "../command-line.ts";
import { cleanEnv, toolModule } from "../workspace.ts";

const SCRIPT = '#!/bin/sh\n# llmc-tool: {"description": "says ran"}\necho ran\n';
const FLOW =
  'id = "look"\n[[steps]]\nid = "read"\nkind = "tool"\ntool = "read_file"\nargs = { path = "a.txt" }\n';

/** A module that says that it was run where a test can see it. */
const evil = (mark: string): string =>
  `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "ran");\n${toolModule('tool("evil", () => "evil");')}`;

/** A user whose own file names folders of code, and a fresh clone that has such folders. */
const clone = (own: string) => {
  const home = tempWorkspace({ ".config/llmc/config.toml": own });
  const mark = join(home, "mark");
  const root = tempWorkspace({
    "mods/evil.mjs": evil(mark),
    "scripts/run_me.sh": SCRIPT,
    "flows/look.toml": FLOW,
    "a.txt": "zebra\n",
  });
  chmodSync(join(root, "scripts/run_me.sh"), 0o755);
  const env = {
    ...cleanEnv(),
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_STATE_HOME: join(home, ".local/state"),
  };
  const tools = async (...args: readonly string[]) =>
    (await startLlmc(root, ["tools", "--mode", "classic", ...args], { env })).out;
  return {
    home,
    root,
    mark,
    tools,
    env,
    llmc: (...args: readonly string[]) => runLlmc(root, args, { env }),
  };
};

const RELATIVE = '[mcp.tools]\ncustom_modules = "mods"\nexecutables = "scripts"\n[mcp.kb]\nflows = "flows"\n';

describe("REQ-D22 FAIL-J2: folders of code that the user's own file names in relation to whatever workspace is open", () => {
  test("nothing of a fresh clone runs or is listed, all of it is shown as waiting, and trust grants its content", async () => {
    const { root, mark, tools, llmc, env } = clone(RELATIVE);
    const listed = await tools();
    expect(listed).not.toMatch(/evil|run_me/);
    expect(existsSync(mark)).toBe(false);
    const shown = await llmc("trust");
    expect(shown.code).not.toBe(0);
    for (const file of ["evil.mjs", "run_me.sh", "look.toml"])
      expect(shown.out).toMatch(new RegExp(`[0-9a-f]{12} {2}${file} \\(not granted\\)`));
    expect((await llmc("repo", "validate")).out).toContain("would allow, if you trust it");
    const doctor = (await llmc("doctor")).out;
    for (const waits of ['the module "evil.mjs"', 'the executable "run_me.sh"', 'the flow "look.toml"'])
      expect(doctor).toContain(waits);
    const health = (await startLlmc(root, ["call", "health", "--json"], { env })).out;
    for (const waits of ["the module evil.mjs", "the folder of executables", "the flow look.toml"])
      expect(health).toContain(waits);

    expect((await llmc("trust", "--yes")).code).toBe(0);
    expect(await tools()).toMatch(/evil[\s\S]*run_me|run_me[\s\S]*evil/);
    expect(existsSync(mark)).toBe(true);
    expect((await llmc("trust")).out).toContain("there is nothing to trust");

    rmSync(mark);
    writeFileSync(join(root, "mods/evil.mjs"), `${evil(mark)}// changed\n`);
    writeFileSync(join(root, "scripts/run_me.sh"), `${SCRIPT}# changed\n`);
    expect(await tools()).not.toMatch(/evil|run_me/);
    expect(existsSync(mark)).toBe(false);
    expect((await llmc("trust")).out).toContain("evil.mjs (not granted)");
    expect((await llmc("trust", "--revoke")).code).toBe(0);
  });

  test("a workspace without such folders has nothing to trust", async () => {
    const { root, llmc } = clone(RELATIVE);
    for (const folder of ["mods", "scripts", "flows"]) rmSync(join(root, folder), { recursive: true });
    const { code, out } = await llmc("trust");
    expect([code, out]).toEqual([0, expect.stringContaining("there is nothing to trust")]);
  });
});

test("REQ-C2 doctor names the user's own file as a source of values", async () => {
  const { home, llmc } = clone("[mcp.tools]\nread_timeout = 8\n");
  const { out } = await llmc("doctor");
  expect(out).toContain(`${join(home, ".config/llmc/config.toml")}, and no file of the workspace`);
  expect(out).not.toContain("no file; the defaults are in force");
});

describe("REQ-D22 FAIL-J2: whose code an absolute path names", () => {
  const own = (folder: string) => `[mcp.tools]\ncustom_modules = ${JSON.stringify(folder)}\n`;

  test("the user's, where it lies outside every root", async () => {
    const { home, mark, tools, llmc } = clone("");
    const folder = join(home, "mine");
    mkdirSync(folder);
    writeFileSync(join(folder, "evil.mjs"), evil(mark));
    writeFileSync(join(home, ".config/llmc/config.toml"), own(folder));
    expect(await tools()).toContain("evil");
    expect((await llmc("trust")).out).toContain("there is nothing to trust");
  });

  test.each(["the folder", "a link to it", "a link to a file in it", "another root"])(
    "the workspace's, where it lies in a root: %s",
    async (kind) => {
      const { home, root, mark, tools } = clone("");
      const folder = join(home, "mine");
      if (kind === "a link to it") symlinkSync(join(root, "mods"), folder);
      else {
        mkdirSync(folder);
        if (kind === "a link to a file in it")
          symlinkSync(join(root, "mods/evil.mjs"), join(folder, "evil.mjs"));
        else if (kind === "another root") writeFileSync(join(folder, "evil.mjs"), evil(mark));
      }
      const named = kind === "the folder" ? join(root, "mods") : folder;
      const roots = kind === "another root" ? `allowed_roots = [".", ${JSON.stringify(folder)}]\n` : "";
      writeFileSync(join(home, ".config/llmc/config.toml"), own(named) + roots);
      expect(await tools()).not.toContain("evil");
      expect(existsSync(mark)).toBe(false);
    },
  );

  test("a variable may be set for all workspaces, and so does not name code in a root; a flag does", async () => {
    const { root, mark, tools, env } = clone("");
    const set = { ...env, LLMC_MCP_TOOLS_CUSTOM_MODULES: "mods" };
    const { out } = await startLlmc(root, ["tools", "--mode", "classic"], { env: set });
    expect(out).not.toContain("evil");
    expect(existsSync(mark)).toBe(false);
    expect((await runLlmc(root, ["trust"], { env: set })).out).toContain("evil.mjs (not granted)");
    expect(await tools("--set", "mcp.tools.custom_modules=mods")).toContain("evil");
  });

  test("a file outside the workspace that --config names is taken at its word for values, not for the workspace's code", async () => {
    const { home, mark, tools } = clone("");
    const file = join(home, "service/llmc.toml");
    mkdirSync(dirname(file));
    writeFileSync(file, `[mcp]\nmode = "classic"\n${own("mods")}`);
    expect(await tools("--config", file)).not.toContain("evil");
    expect(existsSync(mark)).toBe(false);
  });
});

describe("REQ-D22 REQ-K6: flows of a workspace are trusted by their content", () => {
  const CONFIG = '[mcp]\nmode = "classic"\n[mcp.kb]\nflows = "flows"\n';
  const openFlows = () =>
    openTestApp({ config: CONFIG, files: { "flows/look.toml": FLOW, "a.txt": "zebra\n" } });

  const run = async (app: TestApp, id: string) => {
    const allowed = { canAsk: () => true, canConsent: true };
    const asked = await app.ask("kb_compose_flow", { flow_id: id }, allowed);
    if (asked.kind !== "questions") throw new Error("nobody was asked");
    const answers = { grant: { action: "accept" } };
    return JSON.stringify(
      await app.ask("kb_compose_flow", { flow_id: id }, { ...allowed, state: asked.state, answers }),
    );
  };

  test("a file that was edited, or came later, waits at once, with the way out; its neighbours stay", async () => {
    const app = await openFlows();
    expect(await run(app, "look")).toContain("zebra");
    writeFileSync(join(app.root, "flows/late.toml"), FLOW.replace("look", "late"));
    expect(await run(app, "late")).toContain(
      "The flow late.toml was not there when this workspace was trusted",
    );
    expect(await run(app, "look")).toContain("zebra");
    writeFileSync(join(app.root, "flows/look.toml"), FLOW.replace("a.txt", "llmc.toml"));
    const refused = await run(app, "look");
    expect(refused).toContain("The flow look.toml had different content when this workspace was trusted");
    expect(refused).not.toContain("zebra");
    expect(await app.text("health")).toContain("the flow look.toml");
    await app.trust();
    await app.config.reload();
    expect(await run(app, "look")).toContain("[mcp]");
    expect(await run(app, "late")).toContain("zebra");
  });

  test("the grant and its end are in the audit trail, with the file's digest", async () => {
    const { root, llmc } = clone(RELATIVE);
    expect((await llmc("trust", "--yes")).code).toBe(0);
    const records = readdirSync(join(root, ".llmc"), { recursive: true, encoding: "utf8" })
      .filter((name) => /audit.*\.(?:jsonl|log)$/.test(name))
      .map((name) => readFileSync(join(root, ".llmc", name), "utf8"))
      .join("");
    expect(records).toMatch(/mcp\.kb\.flows look\.toml sha256:[0-9a-f]{12}/);
  });
});
