import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { createWriteLocks, type WriteLockRequest } from "./write-locks.ts";

const LONG_MS = 60_000;

const open = async () => {
  const workspace = await createWorkspace({ "a/x": "", "b/x": "", "a/inner/x": "" });
  const userState = join(workspace.root, "state");
  const request = (folder: string, more: Partial<WriteLockRequest> = {}): WriteLockRequest => ({
    roots: [join(workspace.root, folder)],
    program: "make",
    waitMs: LONG_MS,
    signal: undefined,
    principal: undefined,
    ...more,
  });
  return {
    workspace,
    userState,
    request,
    /** Two servers of one user. */
    one: createWriteLocks(userState),
    other: createWriteLocks(userState),
  };
};

const held = () => {
  const entered = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  return {
    work: async () => {
      entered.resolve();
      await end.promise;
    },
    entered: entered.promise,
    end: end.resolve,
  };
};

describe("REQ-D24 REQ-F10 the write lock", () => {
  test.each([
    { first: "a", second: "a" },
    { first: "a", second: "a/inner" },
    { first: "a/inner", second: "a" },
  ])("a server on $second waits for one on $first, at most as long as it said", async (roots) => {
    const { workspace, request, one, other } = await open();
    await using _ = workspace;
    const running = held();
    const first = one.hold(request(roots.first), running.work);
    await running.entered;
    for (const locks of [one, other])
      await expect(
        locks.hold(request(roots.second, { waitMs: 50 }), async () => "too early"),
      ).rejects.toMatchObject({ code: "busy", retryable: true });
    const second = other.hold(request(roots.second), async () => "its turn");
    running.end();
    expect(await second).toBe("its turn");
    await first;
  });

  test("the refusal names the program that runs, of this server and of another", async () => {
    const { workspace, request, one, other } = await open();
    await using _ = workspace;
    const running = held();
    const first = one.hold(request("a", { program: "cargo" }), running.work);
    await running.entered;
    for (const locks of [one, other])
      await expect(locks.hold(request("a", { waitMs: 50 }), async () => {})).rejects.toMatchObject({
        message:
          'Another command that can write ("cargo") is still running; this one waited 0.1 s for its turn.',
      });
    running.end();
    await first;
  });

  test("servers on folders beside each other do not wait", async () => {
    const { workspace, request, one, other } = await open();
    await using _ = workspace;
    const running = held();
    const first = one.hold(request("a"), running.work);
    await running.entered;
    expect(await other.hold(request("b"), async ({ waitedMs }) => waitedMs < LONG_MS)).toBe(true);
    running.end();
    await first;
  });

  test("first come first served, and principals one after the other", async () => {
    const { workspace, request, one } = await open();
    await using _ = workspace;
    const running = held();
    const first = one.hold(request("a", { principal: "greedy" }), running.work);
    await running.entered;
    const order: string[] = [];
    const waiting = ["greedy 1", "greedy 2", "greedy 3", "modest 1"].map((name) =>
      one.hold(request("a", { principal: name.slice(0, 6) }), async () => void order.push(name)),
    );
    running.end();
    await Promise.all([first, ...waiting]);
    expect(order).toEqual(["greedy 1", "modest 1", "greedy 2", "greedy 3"]);
  });

  test("one that is cancelled while it waits takes no lock, nor does one beyond the number that may wait", async () => {
    const { workspace, request, one } = await open();
    await using _ = workspace;
    const running = held();
    const first = one.hold(request("a"), running.work);
    await running.entered;
    const stop = new AbortController();
    const refused = one.hold(request("a", { signal: stop.signal }), async () => "ran");
    const waiting = Array.from({ length: 31 }, () => one.hold(request("a"), async () => {}));
    await expect(one.hold(request("a"), async () => {})).rejects.toMatchObject({ code: "busy" });
    stop.abort();
    await expect(refused).rejects.toMatchObject({ code: "cancelled" });
    running.end();
    await Promise.all([first, ...waiting]);
  });

  test("work that fails gives it back, and work that keeps it gives it back later", async () => {
    const { workspace, request, one, other } = await open();
    await using _ = workspace;
    await expect(one.hold(request("a"), () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    const kept = Promise.withResolvers<void>();
    await one.hold(request("a"), async (lock) => lock.keepUntil(kept.promise));
    await expect(other.hold(request("a", { waitMs: 50 }), async () => {})).rejects.toMatchObject({
      code: "busy",
    });
    kept.resolve();
    expect(await other.hold(request("a"), async () => "free")).toBe("free");
  });

  test("it covers its roots and what is below them, and nothing else", async () => {
    const { workspace, request, one } = await open();
    await using _ = workspace;
    const at = (folder: string): string => join(workspace.root, folder);
    await one.hold(request("a"), async (lock) => {
      expect(lock.covers([at("a"), at("a/inner")])).toBe(true);
      expect(lock.covers([at("a"), at("b")])).toBe(false);
    });
  });

  test("another process that holds it is waited for, and its death gives it back", async () => {
    const { workspace, userState, request, one } = await open();
    await using _ = workspace;
    await one.hold(request("a"), async () => {});
    const { dev, ino } = statSync(join(workspace.root, "a"));
    const holder = spawn("flock", [
      "-x",
      join(userState, "write-locks", `${dev}-${ino}`),
      "sh",
      "-c",
      "echo; cat",
    ]);
    await once(holder.stdout, "data");
    await expect(one.hold(request("a", { waitMs: 50 }), async () => {})).rejects.toMatchObject({
      code: "busy",
    });
    const next = one.hold(request("a"), async () => "after it");
    holder.stdin.end();
    expect(await next).toBe("after it");
  });

  test("nothing is left in a state folder of somebody else's making, and the command is refused", async () => {
    const { workspace, userState, request, one } = await open();
    await using _ = workspace;
    mkdirSync(userState, { mode: 0o700 });
    writeFileSync(join(userState, "write-locks"), "");
    await expect(one.hold(request("a"), async () => {})).rejects.toThrow("write-locks");
    expect(readdirSync(userState)).toEqual(["write-locks"]);
  });

  test("a disk that takes no byte more refuses no command, and the lock is released", async () => {
    const { workspace, userState, request, one } = await open();
    await using _ = workspace;
    await one.hold(request("a"), async () => {});
    const code = `
      import { createWriteLocks } from ${JSON.stringify(new URL("./write-locks.ts", import.meta.url).href)};
      const locks = createWriteLocks(${JSON.stringify(userState)});
      const request = ${JSON.stringify(request("a"))};
      for (const time of ["first", "second"]) await locks.hold(request, async () => console.log(time));
      process.stdin.on("data", () => {});`;
    const child = spawn("bash", ["-c", 'ulimit -f 0; exec "$0" "$@"', process.execPath, "-e", code], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    let shown = "";
    for await (const data of child.stdout) {
      shown += data;
      if (shown === "first\nsecond\n") break;
    }
    expect(shown).toBe("first\nsecond\n");
    // The child still lives: what it had locked is free.
    expect(await one.hold(request("a", { waitMs: 2000 }), async () => "its turn")).toBe("its turn");
    child.stdin.end();
  });
});
