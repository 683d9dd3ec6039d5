import { linkSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, test } from "vitest";
import { openTestApp, TEST_CALLER, type TestApp, tempWorkspace } from "../../test/app.ts";
import { toolModule } from "../../test/workspace.ts";

const NO_STAT = '@id("no-stat")\nforbid(principal, action == Action::"stat", resource);\n';

/** An operator's folder of policies, outside the workspace. */
const openWith = async (
  policies: Readonly<Record<string, string>>,
  more: Parameters<typeof openTestApp>[0] = {},
) => {
  const folder = tempWorkspace(policies);
  const app = await openTestApp({
    overrides: { "mcp.security.policy_files": join(folder, "*.cedar"), "mcp.mode": "classic" },
    watch: true,
    ...more,
  });
  return { app, folder, write: (text: string) => writeFileSync(join(folder, "my.cedar"), text) };
};

const stat = async (app: TestApp): Promise<string> => {
  const result = await app.ask("stat", { path: "." });
  return result.kind === "error" ? result.error.message : result.kind;
};

/** An edit takes effect within a fraction of a second, but on a busy machine everything takes longer. */
const PATIENCE_MS = 10_000;

const eventually = async (until: () => Promise<boolean>): Promise<boolean> => {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(20))
    if (await until()) return true;
  return until();
};

const FORBIDDEN = "The policy no-stat does not allow stat.";

const NESTED = `forbid(principal, action, resource)\nwhen { ${"(".repeat(200)}false${")".repeat(200)} };`;

const BROKEN: readonly (readonly [string, string, string])[] = [
  ["a syntax error", "forbid(principal, action, resource)\nwhen { == };", "my.cedar:2:8: unexpected token"],
  ["an empty file", "", "my.cedar: the file holds no policy"],
  ["a permit of everything", "permit(principal, action, resource);", "my.cedar:1:1: this permits everything"],
  [
    "an unknown tool",
    'forbid(principal, action == Action::"stta", resource);',
    "my.cedar:1:29: unrecognized action",
  ],
  ["one that is nested too deeply", NESTED, "my.cedar:2:47: this is nested too deeply"],
];

describe("REQ-I4 REQ-C5: policy files are hot", () => {
  test.each(BROKEN)(
    "FAIL-H5: %s keeps the last good policies and is located in the log; fixed, it takes effect",
    async (_what, text, location) => {
      const { app, write } = await openWith({ "my.cedar": NO_STAT });
      expect(await stat(app)).toBe(FORBIDDEN);
      write(text);
      expect(await eventually(async () => (await app.logs()).includes(location))).toBe(true);
      expect(await app.logs()).toContain("the last good policies stay in force");
      expect(await stat(app)).toBe(FORBIDDEN);
      expect(app.core.health().problems).toEqual([
        expect.stringMatching(/^an error in the policy file my\.cedar(:\d+:\d+)?$/),
      ]);
      write('@id("other")\nforbid(principal, action == Action::"list_dir", resource);');
      expect(await eventually(async () => (await stat(app)) === "ok")).toBe(true);
      expect(app.core.health().problems).toEqual([]);
    },
  );

  test.each(BROKEN)(
    "FAIL-H5: %s at the start denies everything, names the place, and stays listed; fixed, it takes effect",
    async (_what, text) => {
      const { app, write } = await openWith({ "my.cedar": text });
      const location = /^Everything is refused, because a policy has an error: my\.cedar(:\d+:\d+)?\.$/;
      for (const tool of ["stat", "run_cmd", "health"]) {
        const args = tool === "stat" ? { path: "." } : tool === "health" ? {} : { command: "pwd" };
        expect(await app.ask(tool, args), tool).toMatchObject({
          kind: "error",
          error: {
            code: "forbidden",
            message: expect.stringMatching(location),
            hint: expect.stringContaining("llmc policy check"),
          },
        });
      }
      expect(app.core.listTools(TEST_CALLER).length).toBeGreaterThan(10);
      expect(await app.logs()).toContain("everything is denied until it is fixed");
      write(NO_STAT);
      expect(await eventually(async () => (await stat(app)) === FORBIDDEN)).toBe(true);
      expect(await app.text("health")).toContain('"ok":true');
    },
  );

  it("FAIL-H5: a folder that cannot be read and a named file that is missing deny everything", async () => {
    const folder = tempWorkspace();
    symlinkSync("loop", join(folder, "loop"));
    const openAt = (pattern: string) =>
      openTestApp({
        overrides: { "mcp.security.policy_files": join(folder, pattern), "mcp.mode": "classic" },
      });
    expect(await stat(await openAt("named.cedar"))).toContain("a policy has an error: named.cedar.");
    expect(await stat(await openAt("loop/*.cedar"))).toContain("a policy has an error: loop.");
    expect(await stat(await openAt("no-such-folder/*.cedar"))).toBe("ok");
  });

  it("a list leaves out what is forbidden, and its change is told once; a file that says the same tells nothing", async () => {
    const { app, folder, write } = await openWith({});
    const changes: string[] = [];
    app.core.onListChanged((kind) => changes.push(kind));
    const lists = (): boolean => app.core.listTools(TEST_CALLER).some(({ name }) => name === "stat");
    expect(lists()).toBe(true);
    write(NO_STAT);
    expect(await eventually(async () => changes.length > 0)).toBe(true);
    expect(lists()).toBe(false);
    expect(changes).toEqual(["tools"]);
    write(NO_STAT);
    writeFileSync(join(folder, "notes.txt"), "not a policy");
    await sleep(400);
    expect(changes).toEqual(["tools"]);
    rmSync(join(folder, "my.cedar"));
    expect(await eventually(async () => lists())).toBe(true);
  });

  it("a folder that is made later, and edits that follow one another at once, are noticed", async () => {
    const above = tempWorkspace();
    const app = await openTestApp({
      overrides: { "mcp.security.policy_files": join(above, "policies", "*.cedar"), "mcp.mode": "classic" },
      watch: true,
    });
    mkdirSync(join(above, "policies"));
    await sleep(150);
    for (let edit = 0; edit < 20; edit++) {
      writeFileSync(join(above, "policies", "my.cedar"), `// ${edit}\n${edit === 19 ? NO_STAT : ""}`);
      await sleep(15);
    }
    expect(await eventually(async () => (await stat(app)) === FORBIDDEN)).toBe(true);
  });
});

const admins = { ...TEST_CALLER, principal: "token:ci:0123456789abcdef", owner: "ci" };

describe("REQ-I4: principals", () => {
  it("a token is known by its name, whatever its secret, and nobody else by it", async () => {
    const { app } = await openWith({
      "my.cedar": 'forbid(principal == Principal::"ci", action == Action::"stat", resource);',
    });
    const asked = (caller: typeof admins) => app.ask("stat", { path: "." }, { caller });
    expect((await asked(admins)).kind).toBe("error");
    expect((await asked({ ...admins, principal: "token:ci:fedcba9876543210" })).kind).toBe("error");
    for (const principal of ["local", "token:ci2:0123456789abcdef", "ci:0"])
      expect((await asked({ ...admins, principal })).kind, principal).toBe("ok");
    expect((await asked({ ...TEST_CALLER, agentId: "ci", sessionId: "ci" })).kind).toBe("ok");
  });
});

it("REQ-I4: a custom tool by the name of a group of actions is left out, and takes no policies with it", async () => {
  const app = await openTestApp({
    files: {
      "mods/a.mjs": toolModule('tool("read", () => "x");'),
      "mods/b.mjs": toolModule('tool("mine", () => "y");'),
      "p.cedar": '@id("not-mine")\nforbid(principal, action == Action::"mine", resource);',
    },
    config: `[mcp]\nmode = "classic"\n[mcp.tools]\ncustom_modules = "mods"\n[mcp.security]\npolicy_files = ${JSON.stringify(["~/.config/llmc/policies/*.cedar", "p.cedar"])}\n`,
  });
  expect(await app.logs()).toContain("a tool named read exists already");
  expect(await app.ask("mine", {})).toMatchObject({ kind: "error", error: { code: "forbidden" } });
  expect(await stat(app)).toBe("ok");
});

const PERMIT = '@id("p")\npermit(principal, action in Action::"admin", resource);\n';
const FORBID = '@id("f")\nforbid(principal, action == Action::"stat", resource);\n';
const SQUATTER =
  '@id("mine")\nforbid(principal, action == Action::"list_dir", resource);\n@id("no-stat")\nforbid(principal == Principal::"nobody", action, resource);\n';
const usual = "~/.config/llmc/policies/*.cedar";

describe("REQ-D22 FAIL-J2: policies that a workspace brings", () => {
  const waits = async (config: string, files: Readonly<Record<string, string>>, trusted = false) => {
    const app = await openTestApp({ config, files, trusted });
    const { policies, problems } = app.policy.report();
    expect(problems).toEqual([]);
    return policies.map(({ id, waits: one }) => `${id}${one ? " waits" : ""}`).toSorted();
  };
  const naming = (...patterns: string[]): string =>
    `[mcp]\nmode = "classic"\n[mcp.security]\npolicy_files = ${JSON.stringify([usual, ...patterns])}\n`;

  it("forbid at once, and permit only when they are trusted", async () => {
    const files = { "policies/a.cedar": PERMIT + FORBID };
    expect(await waits(naming("policies/*.cedar"), files)).toEqual(["f", "p waits"]);
    expect(await waits(naming("policies/*.cedar"), files, true)).toEqual(["f", "p"]);
  });

  it("so do files outside it that only the workspace names", async () => {
    const elsewhere = tempWorkspace({ "a.cedar": PERMIT });
    expect(await waits(naming(join(elsewhere, "*.cedar")), {})).toEqual(["p waits"]);
    expect(await waits(naming(join(elsewhere, "a.cedar")), {}, true)).toEqual(["p"]);
  });

  it.each<[string, (folder: string) => void]>([
    ["takes the id of the operator's", (folder) => writeFileSync(join(folder, "a.cedar"), SQUATTER)],
    ["holds garbage", (folder) => writeFileSync(join(folder, "b.cedar"), "garbage")],
    ["is nested too deeply", (folder) => writeFileSync(join(folder, "b.cedar"), NESTED)],
    ["is too large", (folder) => writeFileSync(join(folder, "b.cedar"), `//${"x".repeat(9000)}\n${FORBID}`)],
    [
      "is as large as it may be, and has many names",
      (folder) => {
        writeFileSync(join(folder, "b.cedar"), "");
        truncateSync(join(folder, "b.cedar"), 1024 * 1024);
        for (let i = 0; i < 150; i++) linkSync(join(folder, "b.cedar"), join(folder, `b${i}.cedar`));
      },
    ],
    ["is a folder", (folder) => mkdirSync(join(folder, "b.cedar"))],
    ["leads nowhere", (folder) => symlinkSync("nowhere", join(folder, "b.cedar"))],
    [
      "is one of very many",
      (folder) => {
        for (let i = 0; i < 300; i++)
          writeFileSync(join(folder, `n${i}.cedar`), SQUATTER.replaceAll(/@id\("[^"]+"\)/g, ""));
      },
    ],
  ])("never hold off what the operator writes: a file that %s", async (_what, spoil) => {
    const app = await openTestApp({
      isHome: true,
      config: naming("pol/*.cedar"),
      files: {
        "pol/a.cedar": '@id("mine")\nforbid(principal, action == Action::"list_dir", resource);\n',
        ".config/llmc/policies/README": "",
      },
      trusted: false,
      watch: true,
    });
    expect(await stat(app)).toBe("ok");
    spoil(join(app.root, "pol"));
    await sleep(300);
    writeFileSync(join(app.root, ".config/llmc/policies/my.cedar"), NO_STAT);
    expect(await eventually(async () => (await stat(app)) === FORBIDDEN)).toBe(true);
    // What the workspace forbade while its file was good stays forbidden.
    expect(app.policy.report().policies.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["no-stat", "mine"]),
    );
  });

  it("hold off no call: files that cannot be used, where there are no others", async () => {
    const app = await openTestApp({ config: naming("pol/*.cedar"), trusted: false, watch: true });
    expect(await stat(app)).toBe("ok");
    mkdirSync(join(app.root, "pol/a.cedar"), { recursive: true });
    expect(await eventually(async () => app.policy.report().problems.length > 0)).toBe(true);
    expect(await stat(app)).toBe("ok");
  });

  it("FAIL-A10 a pattern with many stars is matched in one pass", async () => {
    const pattern = `pol/${"*a".repeat(12)}*b.cedar`;
    const file = `pol/${"a".repeat(200)}`;
    const app = await openTestApp({
      config: naming(pattern),
      files: { [file]: FORBID, [`${file}b.cedar`]: FORBID, "pol/aaaab.cedar": NO_STAT },
      trusted: false,
    });
    expect(app.policy.report().policies.map(({ id }) => id)).toEqual(["f"]);
  });

  it("may take 8 KiB together until they are trusted", async () => {
    const files = Object.fromEntries(
      [1, 2, 3].map((i) => [`pol/${i}.cedar`, `//${"x".repeat(4000)}\n${FORBID.replace('"f"', `"f${i}"`)}`]),
    );
    const app = await openTestApp({ config: naming("pol/*.cedar"), files, trusted: false });
    expect(app.policy.report().problems).toMatchObject([{ file: "pol/3.cedar" }]);
  });

  it("a changed file waits again, trust takes effect in a running server, and health says what waits", async () => {
    const files = { "policies/a.cedar": PERMIT };
    const app = await openTestApp({ config: naming("policies/*.cedar"), files, watch: true });
    const waiting = () => app.policy.report().policies.map((policy) => policy.waits);
    expect(waiting()).toEqual([false]);
    writeFileSync(join(app.root, "policies/a.cedar"), `${PERMIT}// changed\n`);
    expect(await eventually(async () => waiting()[0] === true)).toBe(true);
    expect(app.core.health().waiting).toEqual(["the policies of policies/a.cedar"]);
    await app.trust();
    expect(await eventually(async () => waiting()[0] === false)).toBe(true);
    expect(app.core.health().waiting).toEqual([]);
  });
});
