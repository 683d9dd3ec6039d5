import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { commonDirOf, gitDirOf } from "./git-dir.ts";
import { obeyedElsewhere } from "./obeyed-elsewhere.ts";

const LINES = 15_000;
const many = (line: (at: number) => string): string =>
  Array.from({ length: LINES }, (_, at) => line(at)).join("\n");

/** A directory that git would take for a repository, as a clone may bring one. */
const repository = (files: Readonly<Record<string, string>>): string =>
  join(
    tempWorkspace(Object.fromEntries(Object.entries(files).map(([name, text]) => [`r/${name}`, text]))),
    "r",
  );

const BARE = { HEAD: "ref: refs/heads/x\n", "objects/x": "", "refs/x": "" };

describe("FAIL-D6 FAIL-J6 what git obeys elsewhere is found in bounded time, or nothing is changed", () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ["very many folders of hooks", { config: `[core]\n${many((at) => `hooksPath = h${at}`)}` }],
    [
      "folders of hooks times work trees",
      { config: `[core]\n${many((at) => (at % 2 === 0 ? `hooksPath = h${at}` : `worktree = w${at}`))}` },
    ],
    [
      "a configuration that git reads and we would not",
      { config: `[core]\n${" ".repeat(1_100_000)}hooksPath = h` },
    ],
    [
      "very many included files",
      {
        config: `[include]\n${Array.from({ length: 1100 }, (_, at) => `path = i${at}`).join("\n")}`,
      },
    ],
  ])("%s", (_what, files) => {
    expect(() => obeyedElsewhere([repository({ ...BARE, ...files })])).toThrow(
      /more settings, links or hooks/,
    );
  });

  it("a link after 20,000 other entries is found, and the same folder named 2,000 times is read once", () => {
    const lines = Array.from({ length: 2000 }, (_, at) => `hooksPath = ${"./".repeat(at % 9)}hk`).join("\n");
    const dir = repository({ ...BARE, config: `[core]\n${lines}` });
    mkdirSync(join(dir, "hk"));
    for (let at = 0; at < 21_000; at++) writeFileSync(join(dir, "hk", String(at)), "");
    symlinkSync("../../target", join(dir, "hk", "zz-link"));
    const names = obeyedElsewhere([dir]).map(({ name }) => name);
    expect(names).toContain(join(dir, "hk/zz-link"));
  });

  it("a chain of links that leads to nothing is followed once, and its first missing part is what is held", () => {
    const deep = Array.from({ length: 100 }, (_, at) => `q${at}`).join("/");
    const dir = repository({ ...BARE, config: `[core]\nhooksPath = l0/${"d/".repeat(400)}d\n` });
    for (let at = 0; at < 39; at++) symlinkSync(`l${at + 1}/${deep}`, join(dir, `l${at}`));
    const before = performance.now();
    const hooks = obeyedElsewhere([dir]).filter(({ kind }) => kind === "hooks");
    expect(hooks.map(({ real }) => real)).toEqual([join(dir, "l39")]);
    // Followed again from every folder on the way, it took 17 s.
    expect(performance.now() - before).toBeLessThan(8000);
  });

  it("REQ-D24 FAIL-J3 the common directory of a git directory is obeyed, although it has no HEAD", () => {
    const top = tempWorkspace({
      "r/HEAD": "ref: refs/heads/x\n",
      "r/commondir": "../common\n",
      "common/config": "",
    });
    expect(obeyedElsewhere([join(top, "r")])).toContainEqual({
      kind: "config",
      name: join(top, "common"),
      real: join(top, "common"),
    });
  });

  it("REQ-D24 FAIL-J3 where the common directory cannot be known, nothing is changed", () => {
    for (const commondir of [Buffer.from([0x2e, 0x2f, 0xff]), Buffer.alloc(1024 * 1024 + 1, "\n")]) {
      const dir = repository(BARE);
      writeFileSync(join(dir, "commondir"), commondir);
      expect(() => obeyedElsewhere([dir])).toThrow(/commondir.*cannot be followed/);
    }
  });

  it.each([
    ["the working directory of whoever asks", "/proc/self/cwd/../x/inc"],
    ["the same by another name", "/dev/fd/../cwd/../x/inc"],
    ["another user's home", "~root/x/inc"],
    ["where git is installed", "%(prefix)/x/inc"],
    ["a name and then above it", "../a/../x/inc"],
  ])("REQ-D24 FAIL-J3 a path through %s cannot be followed, so nothing is changed", (_what, path) => {
    for (const config of [`[include]\npath = ${path}\n`, `[core]\nhooksPath = ${path}\n`])
      expect(() => obeyedElsewhere([repository({ ...BARE, config })])).toThrow(/cannot be followed/);
    expect(
      obeyedElsewhere([repository({ ...BARE, config: "[core]\nhooksPath = /dev/null\n" })]),
    ).toMatchObject([{ kind: "hooks", real: "/dev/null" }]);
  });

  it("REQ-D24 FAIL-J3 a git directory that is another one for every process is none", () => {
    const dir = repository(BARE);
    writeFileSync(join(dir, "commondir"), "/proc/self/cwd\n");
    expect(() => commonDirOf(dir)).toThrow(/cannot be followed/);
    writeFileSync(join(dir, "pointer"), "gitdir: /proc/self/cwd\n");
    expect(() => gitDirOf(join(dir, "pointer"))).toThrow(/cannot be followed/);
  });
});
