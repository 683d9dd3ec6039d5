import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeWrite as judge, judgeRead, judgeRemoval, type ReachRules, writeDenied } from "./reach.ts";
import { NO_OBEYED_PATHS, REACH } from "./reach-table.ts";

const RULES: ReachRules = {
  workspace: "/w/app",
  roots: ["/w/app", "/data/shared"],
  stateDirs: ["/w/app/.llmc", "/data/state-of-app"],
  stateFolders: ["/w/app/knowledge"],
  stateFiles: ["/w/app/tape.json"],
  userDirs: ["/home/ada/.local/state/llmc"],
  obeyedPaths: {
    ...NO_OBEYED_PATHS,
    user: ["/home/ada/.local/state/llmc"],
    config: ["/w/app/llmc.toml", "/w/app/conf/policies/main.cedar", "/etc/llmc.toml"],
    modules: ["/w/app/modules"],
  },
  isStartup: (path) => path.includes("/.vscode"),
  isWithheld: (path) => path.endsWith(".env"),
  entryKind: () => undefined,
  gitConfiguration: () => [],
};

describe("REQ-D4 REQ-D16 FAIL-A6 judgeRead", () => {
  it.each([
    ["/w/app/.llmc", "state", "state"],
    ["/w/app/.llmc/tokens.json", "state", "state"],
    ["/w/app/src/.LLMC/x", "state", "state"],
    ["/data/state-of-app/index.db", "state", "state"],
    ["/w/app/knowledge/0/kb.db", "state", "state"],
    ["/w/app/tape.json", "state", "state"],
    ["/home/ada/.local/state/llmc/key", "user", "user"],
    ["/w/app/.llmc-tmp-0123456789abcdef01234567", "pending", "pending"],
    ["/w/app/.env", undefined, "secret"],
    ["/w/app/.llmc-notes", undefined, undefined],
    ["/w/app/.llmcx", undefined, undefined],
    ["/w/app/llmc.toml", undefined, undefined],
    ["/w/app/.git/config", undefined, undefined],
    ["/w/app/a", undefined, undefined],
  ])("%s: its name %s, its content %s", (path, name, content) => {
    expect(judgeRead(path, "tools", RULES, "name")).toBe(name);
    expect(judgeRead(path, "tools", RULES, "content")).toBe(content);
  });

  it("asks only about what the table closes, so that a read costs no more than that", () => {
    const open = Object.values(REACH).filter(({ read }) => read.includes("tools"));
    expect(open.length).toBeGreaterThan(0);
    const never = (): never => {
      throw new Error("asked about an entry that everybody reads");
    };
    const rules: ReachRules = {
      ...RULES,
      get obeyedPaths() {
        return never();
      },
      isStartup: never,
      entryKind: never,
      gitConfiguration: never,
    };
    expect(judgeRead("/w/app/a", "tools", rules, "content")).toBeUndefined();
  });
});

const judgeWrite = (path: string, rules: ReachRules) => judge(path, "tools", rules, "create");

describe("REQ-D16 FAIL-A19 judgeWrite", () => {
  it.each([
    ["/w/app/llmc.toml", "config"],
    ["/w/app/llmc.toml/x", "config"],
    ["/w/app/modules", "modules"],
    ["/w/app/modules/a/b.ts", "modules"],
    ["/w/app/conf/policies/main.cedar", "config"],
    ["/etc/llmc.toml", "config"],
    ["/w/app/src/llmc.toml", "config"],
    ["/w/app/src/LLMC.toml", "config"],
    ["/data/shared/llmc.toml", "config"],
    ["/w/app/.llmc", "state"],
    ["/w/app/.llmc/token", "state"],
    ["/w/app/other/.llmc/journal/x.json", "state"],
    ["/data/shared/.llmc", "state"],
    ["/w/app/.llmc-tmp-0123456789abcdef01234567", "pending"],
    ["/w/app/src/.llmc-tmp-0123456789abcdef01234567", "pending"],
    ["/home/ada/.local/state/llmc/key", "user"],
  ])("refuses %s as %s", (path, refusal) => {
    expect(judgeWrite(path, RULES)).toBe(refusal);
    expect(judgeRemoval(path, "tools", RULES)).toBe(refusal);
  });

  it.each([
    "/w/app/llmc.toml.bak",
    "/w/app/modules-old/a.ts",
    "/w/app/conf/policies/other.cedar",
    "/w/app/.llmcrc",
    "/w/app/x.llmc",
    "/w/app/.llmc-tmp-notes",
  ])("lets %s pass", (path) => {
    expect(judgeWrite(path, RULES)).toBeUndefined();
    expect(judgeRemoval(path, "tools", RULES)).toBeUndefined();
  });

  it("FAIL-J1 takes other letters for the same name, as some disks do", () => {
    expect(judgeWrite("/w/app/LLMC.TOML", RULES)).toBe("config");
    expect(judgeWrite("/W/App/Modules/x", RULES)).toBe("modules");
    expect(judgeWrite("/w/app/.LLMC/token", RULES)).toBe("state");
    expect(judgeRemoval("/W", "tools", RULES)).toBe("root");
    expect(judgeRemoval("/w/app/CONF", "tools", RULES)).toBe("holds");
  });

  it("protects whatever lies in a protected folder, at any depth", () => {
    const name = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 6 }), (names) => {
        expect(judgeWrite(`/w/app/modules/${names.join("/")}`, RULES)).toBe("modules");
        expect(judgeWrite(`/w/app/${names.join("/")}/.llmc/x`, RULES)).toBe("state");
      }),
    );
  });
});

describe("REQ-F4 FAIL-A8 judgeRemoval", () => {
  it.each([
    ["/", "root"],
    ["/w", "root"],
    ["/w/app", "root"],
    ["/data", "root"],
    ["/data/shared", "root"],
    ["/w/app/conf", "holds"],
    ["/w/app/conf/policies", "holds"],
  ])("refuses %s as %s", (path, refusal) => {
    expect(judgeRemoval(path, "tools", RULES)).toBe(refusal);
  });

  it.each(["/w/app/src", "/w/app/configuration", "/data/shared/x"])("lets %s pass", (path) => {
    expect(judgeRemoval(path, "tools", RULES)).toBeUndefined();
  });
});

it("names the caller's words, and what is inside them", () => {
  expect(writeDenied("build", "secret", "x/.env")).toMatchObject({
    code: "path_denied",
    message: expect.stringMatching(/^"x\/\.env" in "build" is on the denylist/),
  });
});
