import { execFileSync } from "node:child_process";
import { readdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { createWorkspace, type Workspace } from "../../../test/workspace.ts";
import { createReach } from "../reach/reach.ts";
import { createBudget, OutOfBudget } from "./budget.ts";
import { createHistory } from "./history.ts";
import { openObjectStore } from "./object-store.ts";
import { changedPaths } from "./tree-changes.ts";

const LIMITS = { maxCommits: 100, maxPaths: 5, cpuMs: 60_000, wallMs: 60_000 };

const createRepository = async (folder = "") => {
  const workspace = await createWorkspace({ "a.txt": "a\n", [`${folder}keep.txt`]: "k\n" });
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: workspace.root,
      encoding: "utf8",
    });
  git("init", "-q", "-b", "main");
  const commit = async (...paths: readonly string[]): Promise<void> => {
    for (const path of paths) await workspace.write(path, `${Math.random()}\n`.repeat(40));
    git("add", ".");
    git("commit", "-qm", "one");
  };
  await commit("a.txt");
  return { workspace, git, commit };
};

const reachOf = ({ root }: Workspace, denylist: readonly string[] = [], roots = ["."]) =>
  createReach({ workspace: root, roots: () => roots, denylist: () => denylist });

const sorted = (commits: readonly (readonly string[])[]): readonly string[] =>
  commits.map((paths) => paths.toSorted().join(" "));

test("REQ-R3 the files of each commit, as git tells them, loose and packed; only new commits are read again", async () => {
  const { workspace, git, commit } = await createRepository();
  await using _ = workspace;
  const read = createHistory(LIMITS);
  const reach = reachOf(workspace);
  expect(await read(reach), "the first commit has no other to be compared with").toEqual([]);
  for (let i = 0; i < 12; i++) await commit(`src/${i % 3}/deep/x.ts`, `src/y${i % 4}.ts`);
  await commit("src/only.ts");
  await commit(...Array.from({ length: 6 }, (_, i) => `many/${i}.ts`));
  await commit("src/ä b.ts", "src/y0.ts");
  git("checkout", "-qb", "other", "HEAD~3");
  await commit("src/other.ts", "a.txt");
  git("checkout", "-q", "main");
  git("merge", "-q", "--no-edit", "other");
  const expected = git(
    "log",
    "-z",
    "--no-merges",
    "--no-renames",
    "--name-only",
    "--format=%x01",
    "--date-order",
  )
    .split("\x01")
    .map((paths) =>
      paths
        .split("\0")
        .map((path) => path.trim())
        .filter((path) => path !== ""),
    )
    .filter(({ length }) => length > 1 && length <= LIMITS.maxPaths);
  const found = await read(reach);
  expect(sorted(found).toSorted()).toEqual(sorted(expected.slice(0, found.length)).toSorted());
  expect(found.length).toBe(14);
  expect(found).toContainEqual(["src/y0.ts", "src/ä b.ts"]);
  git("gc", "-q", "--aggressive");
  expect(readdirSync(join(workspace.root, ".git/objects/pack")).join()).toContain(".pack");
  expect(await createHistory(LIMITS)(reach)).toEqual(found);
  await commit("src/y1.ts", "src/y2.ts");
  expect(await read(reach)).toEqual([["src/y1.ts", "src/y2.ts"], ...found]);
});

test("REQ-R3 a workspace that is a folder of the repository has its own paths; so much time, and no more", async () => {
  const { workspace, commit } = await createRepository("sub/");
  await using _ = workspace;
  for (let i = 0; i < 4; i++) await commit("sub/a.ts", "sub/b.ts", "a.txt");
  const inSub = createReach({
    workspace: join(workspace.root, "sub"),
    roots: () => [workspace.root],
    denylist: () => [],
  });
  const pair = ["a.ts", "b.ts"];
  expect(await createHistory(LIMITS)(inSub)).toEqual([pair, pair, pair, pair]);
  const hurried = createHistory({ ...LIMITS, wallMs: 0 });
  const reach = reachOf(workspace);
  expect((await hurried(reach)).length).toBeLessThan(4);
});

test("REQ-D24 no history of a repository that is withheld, leads out of the roots or is damaged", async () => {
  const { workspace, git, commit } = await createRepository();
  await using _ = workspace;
  await using elsewhere = await createWorkspace({});
  await commit("x.ts", "y.ts");
  await commit("x.ts", "y.ts");
  const read = (...args: Parameters<typeof reachOf>) => createHistory(LIMITS)(reachOf(...args));
  expect(await read(workspace)).toHaveLength(2);
  expect(await read(workspace, ["**/.git/**"])).toEqual([]);
  expect(await read(workspace, ["**/.git/"])).toEqual([]);
  expect(await read(elsewhere)).toEqual([]);
  git("gc", "-q");
  const packs = join(workspace.root, ".git/objects/pack");
  for (const name of readdirSync(packs).filter((one) => one.endsWith(".pack"))) {
    const path = join(packs, name);
    renameSync(path, join(elsewhere.root, name));
    symlinkSync(join(elsewhere.root, name), path);
    expect(await read(workspace), "a link is not followed").toEqual([]);
    renameSync(join(elsewhere.root, name), path);
    expect(await read(workspace)).toHaveLength(2);
    truncateSync(path, 40);
    expect(await read(workspace)).toEqual([]);
  }
  renameSync(join(workspace.root, ".git"), join(elsewhere.root, "moved"));
  await workspace.write(".git", `gitdir: ${join(elsewhere.root, "moved")}\n`);
  expect(await read(workspace)).toEqual([]);
});

test("REQ-R3 a repository whose folders hold each other, or with a commit of countless parents, takes no longer than others", async () => {
  const { workspace, git } = await createRepository();
  await using _ = workspace;
  const pipe = (args: readonly string[], input: string): string =>
    execFileSync("git", args, { cwd: workspace.root, input, encoding: "utf8" }).trim();
  const treeOf = (...lines: readonly string[]): string => pipe(["mktree", "--missing"], lines.join("\n"));
  const folder = (id: string, name: string): string => `040000 tree ${id}\t${name}`;
  /** Two to the power of 40 paths, and no file at the end of any. */
  const chain = (name: string): string => {
    let tree = treeOf(folder(treeOf(), name));
    for (let i = 0; i < 40; i++) tree = treeOf(folder(tree, "a"), folder(tree, "b"));
    return tree;
  };
  const commitTree = (tree: string, ...parents: readonly string[]): string =>
    git("commit-tree", tree, ...parents.flatMap((id) => ["-p", id]), "-m", "x").trim();
  const bomb = commitTree(chain("y"), commitTree(chain("x")));
  git("update-ref", "refs/heads/main", bomb);
  expect(await createHistory(LIMITS)(reachOf(workspace))).toEqual([]);
  const plain = git("rev-parse", "HEAD^{tree}").trim();
  const parents = Array.from({ length: 5000 }, (_, i) => `parent ${i.toString(16).padStart(40, "0")}`);
  const person = "a <a@b> 1700000000 +0000";
  const text = [`tree ${plain}`, ...parents, `author ${person}`, `committer ${person}`, "", "x", ""].join(
    "\n",
  );
  git("update-ref", "refs/heads/main", pipe(["hash-object", "-t", "commit", "-w", "--stdin"], text));
  expect(await createHistory({ ...LIMITS, cpuMs: 50 })(reachOf(workspace))).toEqual([]);
}, 20_000);

test("REQ-R3 the time of one look ends it within a comparison", async () => {
  const { workspace, git, commit } = await createRepository();
  await using _ = workspace;
  await commit("a/b/c.ts", "a/b/d.ts");
  const [before = "", after = ""] = ["HEAD~1", "HEAD"].map((one) => git("rev-parse", `${one}^{tree}`).trim());
  let reads = 0;
  const spend = (): void => {
    if (++reads > 3) throw new OutOfBudget();
  };
  const store = openObjectStore([join(workspace.root, ".git/objects")], { spend });
  expect(() => changedPaths(store, before, after, 10)).toThrow(OutOfBudget);
  store.close();
});

test("REQ-D24 HEAD, references, indexes and loose objects are not read through links", async () => {
  const { workspace, git, commit } = await createRepository();
  await using _ = workspace;
  await using elsewhere = await createWorkspace({});
  await commit("x.ts", "y.ts");
  const read = () => createHistory(LIMITS)(reachOf(workspace));
  const expectNothingThrough = async (path: string): Promise<void> => {
    const own = join(workspace.root, ".git", path);
    const moved = join(elsewhere.root, "moved");
    renameSync(own, moved);
    symlinkSync(moved, own);
    expect(await read(), path).toEqual([]);
    renameSync(moved, own);
    expect(await read()).toHaveLength(1);
  };
  const id = git("rev-parse", "HEAD").trim();
  await expectNothingThrough(`objects/${id.slice(0, 2)}/${id.slice(2)}`);
  await expectNothingThrough("HEAD");
  await expectNothingThrough("refs/heads/main");
  git("gc", "-q");
  const [index = ""] = readdirSync(join(workspace.root, ".git/objects/pack")).filter((one) =>
    one.endsWith(".idx"),
  );
  await expectNothingThrough(`objects/pack/${index}`);
  await expectNothingThrough("packed-refs");
});

test("REQ-R3 a path that is too long for any file is left out", async () => {
  const { workspace, git } = await createRepository();
  await using _ = workspace;
  const treeOf = (...lines: readonly string[]): string =>
    execFileSync("git", ["mktree", "--missing"], {
      cwd: workspace.root,
      input: lines.join("\n"),
      encoding: "utf8",
    }).trim();
  const files = (id: string): readonly string[] =>
    ["a", "b", "c".repeat(5000)].map((name) => `100644 blob ${id.repeat(40)}\t${name}`);
  const first = git("commit-tree", treeOf(...files("1")), "-m", "x").trim();
  git(
    "update-ref",
    "refs/heads/main",
    git("commit-tree", treeOf(...files("2")), "-p", first, "-m", "x").trim(),
  );
  expect(await createHistory(LIMITS)(reachOf(workspace))).toEqual([["a", "b"]]);
});

/** A number as packs have it: the first byte has room for `first` bits beside what else it says. */
const sizeBytes = (value: number, lead: number, room: number): readonly number[] => {
  const rest = Math.floor(value / room);
  const byte = lead | (value % room);
  return rest === 0 ? [byte] : [byte | 0x80, ...sizeBytes(rest, 0, 0x80)];
};

/** A pack whose one object is made by a chain of differences, each of a million copies of one byte. */
const writeSlowPack = (path: string, chain: number): string => {
  const size = 1_000_000;
  const number = sizeBytes(size, 0, 0x80);
  const delta = Buffer.concat([Buffer.from([...number, ...number]), Buffer.from("9001".repeat(size), "hex")]);
  const parts = [
    Buffer.from("PACK\0\0\0\x02\0\0\0\x01"),
    Buffer.from(sizeBytes(size, 0x10, 16)),
    deflateSync(Buffer.alloc(size, 97)),
  ];
  const lengthOf = (): number => parts.reduce((sum, { length }) => sum + length, 0);
  let last = 12;
  const packed = deflateSync(delta);
  for (let i = 0; i < chain; i++) {
    const here = lengthOf();
    const back = here - last;
    // Two bytes and more have one added for each that goes on.
    const offset = back < 0x80 ? [back] : [((back >> 7) - 1) | 0x80, back & 0x7f];
    parts.push(Buffer.from([...sizeBytes(delta.length, 0x60, 16), ...offset]), packed);
    last = here;
  }
  writeFileSync(`${path}.pack`, Buffer.concat([...parts, Buffer.alloc(65536)]));
  const index = Buffer.alloc(8 + 1024 + 28 + 40);
  index.writeUInt32BE(0xff744f63, 0);
  index.writeUInt32BE(2, 4);
  for (let i = 0xaa; i < 256; i++) index.writeUInt32BE(1, 8 + i * 4);
  index.fill(0xaa, 1032, 1052);
  index.writeUInt32BE(last, 1056);
  writeFileSync(`${path}.idx`, index);
  return "aa".repeat(20);
};

test("FAIL-F5 one object that takes long to put together ends with the budget of time or of bytes", async () => {
  await using workspace = await createWorkspace({ "objects/pack/x": "" });
  const id = writeSlowPack(join(workspace.root, `objects/pack/pack-${"a".repeat(40)}`), 2);
  const read = (limits: Partial<Parameters<typeof createBudget>[0]>) => {
    const budget = createBudget({ cpuMs: 60_000, wallMs: 60_000, maxBytes: 2 ** 28, ...limits });
    const store = openObjectStore([join(workspace.root, "objects")], budget);
    try {
      return store.read(id, "commit")?.length;
    } finally {
      store.close();
    }
  };
  expect(read({})).toBe(1_000_000);
  expect(() => read({ maxBytes: 4_000_000 })).toThrow(OutOfBudget);
  expect(() => read({ cpuMs: 25 })).toThrow(OutOfBudget);
});

test("FAIL-F5 an index that is larger than its objects and very many references are not read", async () => {
  const { workspace, git, commit } = await createRepository();
  await using _ = workspace;
  await commit("x.ts", "y.ts");
  git("gc", "-q");
  const head = Buffer.alloc(8);
  head.writeUInt32BE(0xff744f63, 0);
  head.writeUInt32BE(2, 4);
  for (let i = 0; i < 20; i++) {
    const fake = join(workspace.root, `.git/objects/pack/pack-${i.toString(16).padStart(40, "0")}`);
    writeFileSync(`${fake}.idx`, head);
    truncateSync(`${fake}.idx`, 64 * 1024 * 1024);
    writeFileSync(`${fake}.pack`, "");
  }
  const id = git("rev-parse", "HEAD").trim();
  const budget = createBudget({ cpuMs: 60_000, wallMs: 60_000, maxBytes: 10_000_000 });
  const store = openObjectStore([join(workspace.root, ".git/objects")], budget);
  expect(store.read(id, "commit")?.length).toBeGreaterThan(100);
  store.close();
  const read = () => createHistory(LIMITS)(reachOf(workspace));
  expect(await read()).toEqual([["x.ts", "y.ts"]]);
  writeFileSync(
    join(workspace.root, ".git/packed-refs"),
    `${"\n".repeat(2 * 1024 * 1024)}${id} refs/heads/main\n`,
  );
  expect(await read()).toEqual([]);
});
