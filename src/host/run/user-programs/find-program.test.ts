import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../../test/app.ts";
import { findUserProgram } from "./find-program.ts";
import { planGrant } from "./plan-grant.ts";

const openHome = (files: Readonly<Record<string, string>> = {}) => {
  const home = tempWorkspace(files);
  const at = (path: string): string => join(home, path);
  const add = (path: string, text = "#!/bin/sh\n"): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
    chmodSync(at(path), 0o755);
  };
  const find = (name: string, env: Readonly<Record<string, string>> = {}) =>
    findUserProgram(name, { home, workspace: at("project"), env: { PATH: "/usr/bin:/bin", ...env } });
  return { at, add, find };
};

describe("FAIL-J6: a program of the workspace is looked at within bounds", () => {
  test("a large one is known by its file and its last change, not by all that is in it", async () => {
    const { at, add, find } = openHome();
    add("project/big");
    add("project/small");
    truncateSync(at("project/big"), 3 * 2 ** 30);
    const { content } = await find(at("project/big"));
    expect(content).toMatch(/^\d+:\d+:3221225472:\d+$/);
    expect((await find(at("project/big"))).content).toBe(content);
    chmodSync(at("project/big"), 0o700);
    expect((await find(at("project/big"))).content).not.toBe(content);
    expect((await find(at("project/small"))).content).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("REQ-D15: a program of the user's", () => {
  test.each([
    [".nvm/versions/node/v22.1.0/bin/thing", "nvm", [".nvm/versions/node/v22.1.0"]],
    [
      ".local/share/fnm/node-versions/v22.1.0/installation/bin/thing",
      "fnm",
      [".local/share/fnm/node-versions/v22.1.0/installation"],
    ],
    [".volta/tools/image/node/22.1.0/bin/thing", "volta", [".volta/tools/image/node/22.1.0"]],
    [".asdf/installs/thing/1.0/bin/thing", "asdf", [".asdf/installs/thing/1.0"]],
    [".local/share/mise/installs/thing/1.0/bin/thing", "mise", [".local/share/mise/installs/thing/1.0"]],
    [".pyenv/versions/3.12.1/bin/thing", "pyenv", [".pyenv/versions/3.12.1"]],
    [".rbenv/versions/3.3.0/bin/thing", "rbenv", [".rbenv/versions/3.3.0"]],
    [".rustup/toolchains/stable-x/bin/thing", "rustup", [".rustup/toolchains/stable-x"]],
    [".sdkman/candidates/java/current/bin/thing", "SDKMAN", [".sdkman/candidates/java/current"]],
    // Their folders hold keys, so only the file itself is opened.
    [".cargo/bin/thing", "~/.cargo/bin", [".cargo/bin/thing"]],
    [".local/bin/thing", "~/.local/bin", [".local/bin/thing"]],
    ["project/node_modules/.bin/thing", "the workspace", []],
    ["project/.venv/bin/thing", "the workspace", []],
    ["project/venv/bin/thing", "the workspace", []],
  ])("%s is found (%s)", async (path, location, readPaths) => {
    const { at, add, find } = openHome();
    add(path);
    expect(await find("thing")).toEqual({
      name: "thing",
      path: at(path),
      realPath: at(path),
      content: location === "the workspace" ? expect.stringMatching(/^[0-9a-f]{64}$/) : "",
      location,
      entry: at(path),
      interpreter: "/bin/sh",
      readPaths: readPaths.map(at),
      inSystem: undefined,
      inWorkspace: undefined,
    });
  });

  test("of several versions, the one that the project or the user chose; a shim is never taken", async () => {
    const { at, add, find } = openHome({ ".nvm/alias/default": "20\n", ".pyenv/version": "3.10.2\n" });
    for (const version of ["v18.2.0", "v20.9.0", "v22.1.0", "v9.0.0"])
      add(`.nvm/versions/node/${version}/bin/node-thing`);
    for (const version of ["3.10.2", "3.12.1"]) add(`.pyenv/versions/${version}/bin/py-thing`);
    add(".pyenv/shims/py-thing");
    add(".rbenv/versions/2.9.0/bin/rb-thing");
    add(".rbenv/versions/2.10.0/bin/rb-thing");
    expect((await find("node-thing")).path).toContain("v20.9.0");
    expect((await find("rb-thing")).path).toContain("2.10.0");
    expect(await find("py-thing", { PATH: at(".pyenv/shims") })).toMatchObject({
      path: at(".pyenv/versions/3.10.2/bin/py-thing"),
    });
    mkdirSync(at("project"));
    writeFileSync(at("project/.nvmrc"), "v18\n");
    expect((await find("node-thing")).path).toContain("v18.2.0");
    const chosen = at(".nvm/versions/node/v22.1.0/bin");
    expect(await find("node-thing", { PATH: `${chosen}:/usr/bin` })).toMatchObject({ location: "your PATH" });
  });

  test("a manager that was moved, and a proxy of rustup, lead to the real program", async () => {
    const { at, add, find } = openHome({ ".rustup/settings.toml": 'default_toolchain = "stable-x"\n' });
    add("elsewhere/versions/node/v22.1.0/bin/thing");
    expect((await find("thing", { NVM_DIR: at("elsewhere") })).location).toBe("nvm");
    add(".cargo/bin/rustup");
    symlinkSync("rustup", at(".cargo/bin/cargo"));
    add(".rustup/toolchains/nightly-x/bin/cargo");
    add(".rustup/toolchains/stable-x/bin/cargo");
    mkdirSync(at(".cargo/registry"));
    expect(await find("cargo", { PATH: at(".cargo/bin") })).toMatchObject({
      path: at(".rustup/toolchains/stable-x/bin/cargo"),
      readPaths: [at(".rustup/toolchains/stable-x"), at(".cargo/registry")],
    });
  });

  test("what the user's shell runs comes first, and the system's is told", async () => {
    const { at, add, find } = openHome();
    expect(await find("env")).toMatchObject({ entry: "env", location: "the system", readPaths: [] });
    add("mine/bin/env");
    expect(await find("env", { PATH: `${at("mine/bin")}:/usr/bin` })).toMatchObject({
      entry: at("mine/bin/env"),
      location: "your PATH",
      inSystem: "/usr/bin/env",
    });
    expect(await find("env", { PATH: `/usr/bin:${at("mine/bin")}` })).toMatchObject({
      entry: "env",
      inSystem: undefined,
    });
    // A shim stands for the version that it would choose.
    add(".pyenv/shims/env");
    add(".pyenv/versions/3.11.7/bin/env");
    expect(await find("env", { PATH: `${at(".pyenv/shims")}:/usr/bin` })).toMatchObject({
      entry: at(".pyenv/versions/3.11.7/bin/env"),
      location: "pyenv",
      inSystem: "/usr/bin/env",
    });
    // What npx puts in front, and what a workspace holds, is not the user's choice.
    add("cache/node_modules/.bin/env");
    add("project/bin/env");
    const path = `${at("cache/node_modules/.bin")}:${at("project/bin")}:/usr/bin`;
    expect(await find("env", { PATH: path })).toMatchObject({ entry: "env" });
    expect(await find(at("mine/bin/env"))).toMatchObject({ entry: at("mine/bin/env") });
  });

  test("an activated virtual environment is what the shell runs; one that is not activated is told", async () => {
    const { at, add, find } = openHome();
    add("project/.venv/bin/env");
    const PATH = `${at("project/.venv/bin")}:/usr/bin`;
    expect(await find("env", { PATH, VIRTUAL_ENV: at("project/.venv") })).toMatchObject({
      entry: at("project/.venv/bin/env"),
      location: "your PATH",
      inSystem: "/usr/bin/env",
      inWorkspace: undefined,
    });
    for (const env of [{}, { PATH }, { PATH, VIRTUAL_ENV: at("project") }])
      expect(await find("env", env)).toMatchObject({
        entry: "env",
        inSystem: undefined,
        inWorkspace: at("project/.venv/bin/env"),
      });
  });

  test("a question about another program of the name tells of the one in the workspace", async () => {
    const { at, add, find } = openHome();
    add("project/.venv/bin/env");
    const plan = await planGrant(["env"], (name) => find(name, {}));
    expect(plan.meaning.at(-1)).toBe(
      `The workspace has one of its own, ${at("project/.venv/bin/env")}, which this does not allow`,
    );
  });

  test.each([
    ["#!/usr/bin/env special", ".asdf/installs/special/2.0/bin/special"],
    ["#!/usr/bin/env -S A=1 special --flag", ".asdf/installs/special/2.0/bin/special"],
    ["#! /usr/bin/env beside", "project/node_modules/.bin/beside"],
  ])("%s: the interpreter and its tool chain", async (line, interpreter) => {
    const { at, add, find } = openHome();
    add("project/node_modules/.bin/tool", `${line}\n`);
    add(interpreter);
    const found = await find("tool");
    expect(found.interpreter).toBe(at(interpreter));
    expect(found.readPaths).toEqual(
      interpreter.startsWith("project") ? [] : [at(".asdf/installs/special/2.0")],
    );
  });

  test("a virtual environment whose interpreter lies elsewhere opens that tool chain", async () => {
    const { at, add, find } = openHome();
    add(".pyenv/versions/3.12.1/bin/python3.12");
    mkdirSync(at("project/.venv/bin"), { recursive: true });
    symlinkSync(at(".pyenv/versions/3.12.1/bin/python3.12"), at("project/.venv/bin/python"));
    add("project/.venv/bin/tool", `#!${at("project/.venv/bin/python")}\n`);
    expect((await find("tool")).readPaths).toEqual([at(".pyenv/versions/3.12.1")]);
  });

  test.each(["no-such-program", "", "./missing", "a\0b"])(
    "%j is refused, with what was searched",
    async (name) => {
      const { find } = openHome();
      await expect(find(name)).rejects.toMatchObject({
        code: "file_not_found",
        hint: expect.stringMatching(
          /node_modules\/\.bin, \.venv\/bin.*nvm, fnm, volta, asdf, mise, pyenv, rbenv/,
        ),
      });
    },
  );
});
