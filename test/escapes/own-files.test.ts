import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readKeyPair } from "../../src/host/os/key-pair.ts";
import { createDisk } from "../../src/host/own-files/disk.ts";
import { readOwnFile } from "../../src/host/own-files/read-own-file.ts";
import { createWorkspaceFiles, type WorkspaceFiles } from "../../src/host/own-files/workspace-files.ts";
import { createTrackedFinder } from "../../src/host/run/git/tracked.ts";
import { openTestApp } from "../app.ts";
import { rounds, someIfRepeated } from "../rounds.ts";
import { createWorkspace } from "../workspace.ts";

let base: string;
let workspace: string;
let outside: string;
let files: WorkspaceFiles;

const at = (...names: string[]): string => join(workspace, ...names);

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "llmc-own-files-")));
  workspace = join(base, "workspace");
  outside = join(base, "outside");
  mkdirSync(workspace);
  mkdirSync(outside);
  files = createWorkspaceFiles(workspace);
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const within = async <T>(ms: number, work: () => Promise<T>): Promise<T> => {
  const start = performance.now();
  try {
    return await work();
  } finally {
    expect(performance.now() - start).toBeLessThan(ms);
  }
};

/** What somebody may put under a name that the server opens by itself. */
const TRAPS: readonly (readonly [string, (path: string) => void, string])[] = [
  ["a FIFO", (path) => void execFileSync("mkfifo", [path]), "ENOTREG"],
  [
    "a link to a FIFO",
    (path) => {
      execFileSync("mkfifo", [`${path}.fifo`]);
      symlinkSync(`${path}.fifo`, path);
    },
    "ENOTREG",
  ],
  ["a link to /dev/zero", (path) => symlinkSync("/dev/zero", path), "ENOTREG"],
  ["a folder", (path) => mkdirSync(path), "EISDIR"],
  [
    "an endless file",
    (path) => {
      writeFileSync(path, "");
      truncateSync(path, 100 * 1024 ** 3);
    },
    "EFBIG",
  ],
];

describe("FAIL-J6: what the server reads for itself", () => {
  test.each(TRAPS)("is not %s", async (_what, plant, code) => {
    plant(at("x"));
    const reading = expect.objectContaining({ code });
    await within(1000, () => expect(createDisk().readText(at("x"))).rejects.toEqual(reading));
    expect(() => readOwnFile(at("x"), { maxBytes: 1000 })).toThrow(reading);
    await within(1000, () =>
      expect(readKeyPair(at("x"), at("x"))).rejects.toMatchObject({ code: "config_invalid" }),
    );
    await expect(files.rewrite(at("x"), (text) => `${text}y`)).rejects.toThrow();
  });

  test.each(TRAPS)("FAIL-J4: as git's index, %s makes no secret one that git keeps", async (_what, plant) => {
    mkdirSync(at(".git"));
    plant(at(".git/index"));
    const find = createTrackedFinder();
    expect((await within(2000, async () => find([at(".env")], [workspace]))).unmodified).toEqual(new Set());
  });

  test.each(TRAPS)("as a .git file, %s is no repository", async (_what, plant) => {
    plant(at(".git"));
    const find = createTrackedFinder();
    expect((await within(2000, async () => find([at(".env")], [workspace]))).unmodified).toEqual(new Set());
  });

  test("is read whole, also where it grows or says that it is empty", () => {
    writeFileSync(at("x"), "y".repeat(10_000));
    expect(readOwnFile(at("x"), { maxBytes: 10_000 })).toHaveLength(10_000);
    expect(() => readOwnFile(at("x"), { maxBytes: 9999 })).toThrow("larger than");
    expect(readOwnFile("/proc/self/mounts", { maxBytes: 1_000_000 }).length).toBeGreaterThan(10);
  });

  test.each(someIfRepeated(TRAPS))(
    "as llmc.toml, %s stops the start with an error that names the file",
    async (_what, plant, code) => {
      await using elsewhere = await createWorkspace();
      plant(join(elsewhere.root, "llmc.toml"));
      const server = await elsewhere.start({ handshake: false });
      const { code: exit } = await within(10_000, () => server.exited);
      expect(exit).toBe(3);
      expect(server.stderr).toContain("llmc.toml");
      expect(server.stderr).toContain(code);
    },
  );

  test.each(someIfRepeated(TRAPS.filter(([what]) => what !== "a folder")))(
    "as a sidecar and an agent guide, %s is refused at once and the server goes on",
    async (_what, plant) => {
      await using elsewhere = await createWorkspace({
        "llmc.toml": '[mcp.resources]\nsidecars = ["notes.md"]\n',
        "a.txt": "hello",
      });
      plant(join(elsewhere.root, "AGENTS.md"));
      plant(join(elsewhere.root, "notes.md"));
      const server = await elsewhere.start();
      const listed = await server.request("resources/list");
      const resources = (listed.result?.["resources"] ?? []) as readonly { readonly uri: string }[];
      const asked = resources.map(({ uri }) => server.request("resources/read", { uri }));
      await within(5000, () => Promise.all([...asked, server.call("00_INIT", {})]));
      await within(5000, () => server.call("read_file", { path: "a.txt" }));
    },
  );
});

describe("FAIL-J11: what the server writes for itself", () => {
  test("is made with its folders, appended to and replaced", async () => {
    const path = at("artifacts/audit/tokens.csv");
    await files.rewrite(path, () => "c\n");
    expect(existsSync(path)).toBe(false);
    await files.appendText(path, "a\n", "header\n");
    await files.appendText(path, "b\n", "header\n");
    await files.rewrite(path, (text) => `${text}c\n`);
    expect(readFileSync(path, "utf8")).toBe("header\na\nb\nc\n");
    expect(readdirSync(at("artifacts/audit"))).toEqual(["tokens.csv"]);
  });

  test("FAIL-D7: loses no line that others add while old ones are removed", async () => {
    const path = at("artifacts/tokens.csv");
    const lines = Array.from({ length: 300 }, (_, i) => `line ${i}\n`);
    const dropOld = (text: string): string => text.replaceAll(/^old .*\n/gm, "");
    let isDone = false;
    const removing = async (): Promise<void> => {
      for (let i = 0; i < 1000 && !isDone; i++) await createWorkspaceFiles(workspace).rewrite(path, dropOld);
    };
    const adding = async (): Promise<void> => {
      const other = createWorkspaceFiles(workspace);
      for (const line of lines) await other.appendText(path, `old ${line}${line}`, "header\n");
      isDone = true;
    };
    await Promise.all([adding(), removing()]);
    await files.rewrite(path, dropOld);
    expect(readFileSync(path, "utf8")).toBe(`header\n${lines.join("")}`);
    expect(readdirSync(at("artifacts"))).toEqual(["tokens.csv"]);
  });

  test("FAIL-D7: is written, and not replaced, while a command holds its lock", async () => {
    const path = at("artifacts/tokens.csv");
    await files.appendText(path, "old\n");
    const holding = spawn("flock", ["--no-fork", path, "sleep", "20"], { stdio: "ignore" });
    try {
      await sleep(200);
      await files.appendText(path, "new\n");
      await within(500, () => files.appendText(path, "newer\n"));
      await files.rewrite(path, () => "");
      expect(readFileSync(path, "utf8")).toBe("old\nnew\nnewer\n");
    } finally {
      holding.kill("SIGKILL");
    }
  });

  test("may lie outside, where the operator says so, through folders that are links", async () => {
    symlinkSync(outside, join(base, "linked"));
    await files.appendText(join(base, "linked/new/tokens.csv"), "a\n");
    expect(readFileSync(join(outside, "new/tokens.csv"), "utf8")).toBe("a\n");
  });

  test.each<[string, () => void]>([
    ["its folder is a link", () => symlinkSync(outside, at("artifacts"))],
    [
      "an upper folder is a link",
      () => {
        mkdirSync(join(outside, "audit"));
        symlinkSync(outside, at("artifacts"));
      },
    ],
    [
      "it is a link",
      () => {
        mkdirSync(at("artifacts"));
        symlinkSync(join(outside, "tokens.csv"), at("artifacts/tokens.csv"));
      },
    ],
    [
      "it has a second name",
      () => {
        mkdirSync(at("artifacts"));
        writeFileSync(join(outside, "tokens.csv"), "mine");
        linkSync(join(outside, "tokens.csv"), at("artifacts/tokens.csv"));
      },
    ],
    [
      "it is a FIFO",
      () => {
        mkdirSync(at("artifacts"));
        execFileSync("mkfifo", [at("artifacts/tokens.csv")]);
      },
    ],
    ["its folder is a FIFO", () => execFileSync("mkfifo", [at("artifacts")])],
  ])("is not written where %s", async (_what, plant) => {
    plant();
    const path = at("artifacts/tokens.csv");
    await within(1000, () => expect(files.appendText(path, "x\n")).rejects.toThrow());
    await within(1000, () => expect(files.rewrite(path, (text) => `${text}x\n`)).rejects.toThrow());
    for (const name of readdirSync(outside, { recursive: true, encoding: "utf8" }))
      if (name.endsWith(".csv")) expect(readFileSync(join(outside, name), "utf8")).toBe("mine");
  });

  test("stays inside while its folder is swapped for a link, round after round", async () => {
    const path = at("artifacts/tokens.csv");
    mkdirSync(at("artifacts"));
    const swapper = `
      const { renameSync, rmSync, symlinkSync, unlinkSync } = require("node:fs");
      const [here, kept, outside] = process.argv.slice(1);
      // The other side makes the folder again where it is missing.
      const attempt = (work) => { try { work(); } catch {} };
      for (;;) {
        attempt(() => renameSync(here, kept));
        attempt(() => symlinkSync(outside, here));
        attempt(() => unlinkSync(here));
        attempt(() => renameSync(kept, here));
        attempt(() => rmSync(kept, { recursive: true, force: true }));
      }`;
    const args = ["-e", swapper, at("artifacts"), at("kept"), outside];
    const swapping = spawn(process.execPath, args, { stdio: "ignore" });
    const ended = once(swapping, "close");
    await sleep(200);
    let written = 0;
    // On a busy machine the other side may hold the folder away for long: the rounds go on until one has found it.
    for (let i = 0; i < rounds(1000, 20_000) || (written === 0 && i < 100_000); i++)
      await files.appendText(path, "x\n").then(
        () => written++,
        () => {},
      );
    swapping.kill("SIGKILL");
    await ended;
    expect(written).toBeGreaterThan(0);
    expect(readdirSync(outside)).toEqual([]);
  });

  test("the audit says that it could not be written, and calls go on", async () => {
    const app = await openTestApp({
      config: '[mcp.observability]\ncsv_token_audit_enabled = true\ncsv_path = "artifacts/tokens.csv"\n',
      files: { "a.txt": "hello" },
    });
    symlinkSync(outside, join(app.root, "artifacts"));
    expect(await app.text("read_file", { path: "a.txt" })).toContain("hello");
    await expect.poll(() => app.logs()).toContain("the token audit could not be written");
    expect(existsSync(join(outside, "tokens.csv"))).toBe(false);
  });

  test("a client's settings behind links are still edited where they really are", async () => {
    writeFileSync(join(outside, "settings.json"), "{}");
    symlinkSync(join(outside, "settings.json"), at("settings.json"));
    const disk = createDisk();
    const real = await disk.resolveFile(at("settings.json"));
    await disk.writeText(real?.path ?? "", '{"a":1}');
    expect(await disk.readText(at("settings.json"))).toBe('{"a":1}');
  });
});
