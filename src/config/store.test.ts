import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadTrusted, NO_FOLDERS, NO_TRUST } from "../../test/config-request.ts";
import type { LlmcError } from "../base/error.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { loadConfig } from "./load.ts";
import type { LoadRequest } from "./load-request.ts";
import { type ConfigChange, createConfigStore } from "./store.ts";

let root = "";
let cleanups: (() => void)[] = [];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "llmc-store-"));
});
afterEach(async () => {
  for (const cleanup of cleanups) cleanup();
  cleanups = [];
  await rm(root, { recursive: true, force: true });
});

const file = () => join(root, "llmc.toml");
const write = (text: string) => writeFile(file(), text);
const readTimeout = (seconds: number) => `[mcp]\nmode = "hybrid"\n[mcp.tools]\nread_timeout = ${seconds}\n`;

const open = async (request: Partial<LoadRequest> = {}) => {
  const disk = createDisk();
  const load = () => loadTrusted({ disk, env: {}, root, overrides: {}, ...request });
  const errors: LlmcError[] = [];
  const changes: ConfigChange[] = [];
  const store = createConfigStore({ load, first: await load(), onError: (error) => errors.push(error) });
  store.onChange((_next, _previous, change) => changes.push(change));
  const watch = () => cleanups.push(store.watch(disk));
  return { store, errors, changes, watch, tools: () => store.current().config.mcp.tools };
};

describe("REQ-C5: reload", () => {
  it("says which keys changed, and tells listeners with both configs", async () => {
    await write(readTimeout(1));
    const { store } = await open();
    const seen: number[] = [];
    const off = store.onChange((next, previous, { changed }) =>
      seen.push(previous.config.mcp.tools.read_timeout, next.config.mcp.tools.read_timeout, changed.length),
    );
    await write(`${readTimeout(2)}allowed_roots = []\n`);
    expect(await store.reload()).toEqual({
      changed: ["mcp.tools.allowed_roots", "mcp.tools.read_timeout"],
      needsRestart: [],
    });
    off();
    await write(readTimeout(3));
    await store.reload();
    expect(seen).toEqual([1, 2, 2]);
  });

  it("is quiet when nothing changed", async () => {
    const { store, changes } = await open();
    expect(await store.reload()).toEqual({ changed: [], needsRestart: [] });
    expect(changes).toEqual([]);
  });

  it("a bad edit is reported and the last good config stays, until a good one comes", async () => {
    await write(readTimeout(1));
    const { store, errors, tools } = await open();
    await write('[mcp.tools]\nread_timeout = "2"\nrun_cmd_allow_list = []\n');
    const result = await store.reload();
    expect(result).toEqual({ error: errors[0] });
    expect(errors[0]?.code).toBe("config_invalid");
    expect(errors[0]?.message).toContain("run_cmd_allowlist");
    expect(tools().read_timeout).toBe(1);
    await write(readTimeout(3));
    await store.reload();
    expect(tools().read_timeout).toBe(3);
  });

  it("keeps the value of this start for keys that need a restart, and says which wait", async () => {
    await write("[mcp.server]\nport = 1\n[mcp.tools]\nread_timeout = 1\n");
    const { store, changes } = await open();
    await write("[mcp.server]\nport = 2\n[mcp.tools]\nread_timeout = 2\n");
    const waiting = { changed: ["mcp.tools.read_timeout"], needsRestart: ["mcp.server.port"] };
    expect(await store.reload()).toEqual(waiting);
    expect(store.current().config.mcp.server.port).toBe(1);
    expect(Object.isFrozen(store.current().config.mcp.server)).toBe(true);

    await store.reload();
    expect(changes).toEqual([waiting]);

    await write("[mcp.server]\nport = 1\n[mcp.tools]\nread_timeout = 2\n");
    expect(await store.reload()).toEqual({ changed: [], needsRestart: [] });
    expect(changes).toHaveLength(2);
  });

  it("REQ-C2: flags and variables stay in force over reloads", async () => {
    const { store, tools } = await open({
      env: { LLMC_MCP_TOOLS_READ_TIMEOUT: "7" },
      overrides: { "mcp.tools.allowed_roots": ["src"] },
    });
    await write('[mcp.tools]\nread_timeout = 2\nallowed_roots = ["/"]\n');
    await store.reload();
    expect(tools().read_timeout).toBe(7);
    expect(tools().allowed_roots).toEqual(["src"]);
  });

  it("a listener that throws is reported and does not stop the others", async () => {
    const { store, errors, changes } = await open();
    const later = vi.fn();
    store.onChange(() => {
      throw new Error("mine");
    });
    store.onChange(later);
    await write(readTimeout(2));
    await store.reload();
    expect(errors.map(({ code }) => code)).toEqual(["internal_error"]);
    expect(later).toHaveBeenCalledOnce();
    expect(changes).toHaveLength(1);
  });

  it("concurrent reloads run one after the other", async () => {
    const first = await loadTrusted({ disk: createDisk(), env: {}, root });
    let running = 0;
    let peak = 0;
    const load = async () => {
      running += 1;
      peak = Math.max(peak, running);
      await new Promise((done) => setTimeout(done, 5));
      running -= 1;
      return first;
    };
    const store = createConfigStore({ load, first, onError: () => {} });
    await Promise.all(Array.from({ length: 5 }, () => store.reload()));
    expect(peak).toBe(1);
  });
});

describe("REQ-C5: watching a real file", () => {
  it("takes a good edit, survives a bad one and recovers", async () => {
    await write(readTimeout(1));
    const { watch, errors, tools } = await open();
    watch();
    await write(readTimeout(2));
    await vi.waitFor(() => expect(tools().read_timeout).toBe(2), 5000);
    await write("[mcp.tools\n");
    await vi.waitFor(() => expect(errors[0]?.message).toMatch(/^llmc\.toml:1:/), 5000);
    expect(tools().read_timeout).toBe(2);
    await write(readTimeout(3));
    await vi.waitFor(() => expect(tools().read_timeout).toBe(3), 5000);
  });

  it("takes a file that appears, one that replaces it atomically, and its removal", async () => {
    const { watch, store, tools } = await open();
    watch();
    await write(readTimeout(2));
    await vi.waitFor(() => expect(tools().read_timeout).toBe(2), 5000);
    await writeFile(join(root, "new"), "[mcp.tools]\nread_timeout = 4\n");
    await rename(join(root, "new"), file());
    await vi.waitFor(() => expect(tools().read_timeout).toBe(4), 5000);
    expect(store.current().config.mcp.mode).toBe("classic");
    await unlink(file());
    await vi.waitFor(() => expect(tools().read_timeout).toBe(10), 5000);
    expect(store.current().config.mcp.mode).toBe("hybrid");
    expect(store.current().file).toBeUndefined();
  });

  it("knows a file by its state before it was read, so that one changed during the load is another", async () => {
    await write(readTimeout(2));
    const disk = createDisk();
    const changing = {
      ...disk,
      readText: async (path: string) => {
        const text = await disk.readText(path);
        if (path.endsWith("/llmc.toml")) await write(readTimeout(33));
        return text;
      },
    };
    const { identities, lookedAt } = await loadTrusted({ disk: changing, env: {}, root });
    const known = new Map(identities).get(lookedAt);
    expect(known).toMatch(/:/);
    expect(known).not.toBe(disk.identityOf(lookedAt));
  });

  it("never takes a file that is half written", async () => {
    await write(readTimeout(2));
    const grown = "[mcp.tools]\nread_timeout = 3\n";
    const texts = ["", grown, `${grown}x = 1\n`];
    const disk = {
      readText: async (path: string) =>
        path.endsWith("/llmc.toml") ? (texts.length > 1 ? texts.shift() : texts[0]) : undefined,
      realOrFuture: (path: string) => path,
      identityOf: () => null,
    };
    const first = await loadTrusted({ disk: createDisk(), env: {}, root });
    const errors: string[] = [];
    const onError = ({ message }: LlmcError) => errors.push(message);
    const store = createConfigStore({
      load: () => loadConfig({ disk, trust: NO_TRUST, folders: NO_FOLDERS, env: {}, root }),
      first,
      onError,
    });
    const listener = vi.fn();
    store.onChange(listener);
    cleanups.push(store.watch({ watch: () => () => {} }));
    await vi.waitFor(() => expect(errors).toEqual(['llmc.toml:3: unknown key "mcp.tools.x"']), 5000);
    expect(listener).not.toHaveBeenCalled();
    expect(store.current().config.mcp.tools.read_timeout).toBe(2);
  });

  it("sees an edit made between the first load and the watch", async () => {
    const { watch, tools } = await open();
    await write(readTimeout(5));
    watch();
    await vi.waitFor(() => expect(tools().read_timeout).toBe(5), 5000);
  });

  it("a named file that goes away is a bad edit", async () => {
    await write(readTimeout(2));
    const { watch, errors, tools } = await open({ configPath: "llmc.toml" });
    watch();
    await unlink(file());
    await vi.waitFor(() => expect(errors[0]?.message).toBe("llmc.toml: there is no such config file"), 5000);
    expect(tools().read_timeout).toBe(2);
  });

  it("FAIL-J8 takes an edit of the file that a link leads to", async () => {
    await mkdir(join(root, "dotfiles"));
    await writeFile(join(root, "dotfiles/real.toml"), readTimeout(2));
    await symlink("dotfiles/real.toml", file());
    const { watch, tools } = await open();
    watch();
    await writeFile(join(root, "dotfiles/real.toml"), readTimeout(3));
    await vi.waitFor(() => expect(tools().read_timeout).toBe(3), 5000);
  });

  it("however many events there are, at most one reload waits behind the one under way", async () => {
    let loads = 0;
    const { store } = await open();
    const counting = createConfigStore({
      load: async () => {
        loads++;
        return store.current();
      },
      first: store.current(),
      onError: () => {},
    });
    let changed = (): void => {};
    cleanups.push(
      counting.watch({
        watch: (_path, notice) => {
          changed = notice;
          return () => {};
        },
      }),
    );
    for (let i = 0; i < 1000; i++) changed();
    // Each reload reads twice: that of the start, and one for all events.
    await vi.waitFor(() => expect(loads).toBe(4), 5000);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(loads).toBe(4);
  });

  it("a machine that cannot watch is reported, and the server lives on without", async () => {
    const { store, errors } = await open();
    const stop = store.watch({
      watch: () => {
        throw new Error("no more watches");
      },
    });
    stop();
    expect(errors[0]?.code).toBe("unavailable");
    expect(errors[0]?.message).toContain("cannot be watched");
  });
});
