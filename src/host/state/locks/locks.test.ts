import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOwners } from "../../os/process-owner.ts";
import type { Database } from "../database/database.ts";
import { createLockDb } from "../lock-db.ts";
import { createLocks, type Lease, type Locks, type LocksOptions } from "./locks.ts";

let workspace: string;
let database: Database;
let others: Database;

const make = (over: Partial<LocksOptions> = {}): Locks =>
  createLocks({
    database,
    workspace,
    settings: () => ({ waitMs: 2000, leaseMs: 15_000 }),
    now: Date.now,
    pid: process.pid,
    ...over,
  });
const key = (name: string): string => join(workspace, name);

beforeEach(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-locks-")));
  const onWarning = (message: string): void => expect.fail(message);
  database = createLockDb({ workspace, userState: join(workspace, "state"), onWarning });
  // A second connection, as another process has.
  others = createLockDb({ workspace, userState: join(workspace, "state"), onWarning });
});

afterEach(() => {
  database.close();
  others.close();
  rmSync(workspace, { recursive: true, force: true });
});

/** Holds until it is told to let go. */
const occupy = async (
  locks: Locks,
  keys: readonly string[],
): Promise<{ lease: Lease; end: () => Promise<void> }> => {
  const { promise: untilReleased, resolve: released } = Promise.withResolvers<void>();
  const { promise: held, resolve: acquired } = Promise.withResolvers<Lease>();
  const over = locks.hold(keys, async (lease) => {
    acquired(lease);
    await untilReleased;
  });
  return {
    lease: await Promise.race([held, over.then(() => expect.fail("never held"))]),
    end: () => {
      released();
      return over;
    },
  };
};

const row = (over: Readonly<Record<string, string | number>> = {}): void => {
  const self = createOwners(process.pid).self();
  const values = {
    key: key("a"),
    holder: "stranger",
    pid: process.pid,
    birth: self.birth,
    fence: 1,
    acquired: Date.now(),
    expires: Date.now() + 10_000,
    lease_ms: 15_000,
    is_wanted: 0,
    ...over,
  };
  others.transact(() => {
    others.sql("INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)").run(...Object.values(values));
  });
};

describe("holding", () => {
  it("gives the result of the work, lets go whatever comes of it, and fences grow", async () => {
    const locks = make();
    const first = await locks.hold([key("a")], async ({ fence }) => fence);
    await expect(locks.hold([key("a")], () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(locks.list()).toEqual([]);
    const second = await make({ database: others }).hold([key("b")], async ({ fence }) => fence);
    expect(second).toBeGreaterThan(first);
  });

  it("shows who holds what", async () => {
    const locks = make();
    expect(locks.list()).toEqual([]);
    expect(database.exists()).toBe(false);
    const { lease, end } = await occupy(locks, [key("b"), key("a"), key("b")]);
    expect(make({ database: others }).list()).toMatchObject([
      { key: key("a"), pid: process.pid, fence: lease.fence, isDead: false },
      { key: key("b"), pid: process.pid, fence: lease.fence, isDead: false },
    ]);
    await end();
    expect(locks.list()).toEqual([]);
  });

  it("FAIL-A17 REQ-F10 is the same for servers whose workspaces lie in one another", async () => {
    const inner = createLockDb({
      workspace: key("sub"),
      userState: key("state"),
      onWarning: (message) => expect.fail(message),
    });
    const { end } = await occupy(make(), [key("sub/file")]);
    const settings = () => ({ waitMs: 50, leaseMs: 15_000 });
    const late = make({ database: inner, workspace: key("sub"), settings }).hold(
      [key("sub/file")],
      async () => {},
    );
    await expect(late).rejects.toMatchObject({ code: "busy" });
    await end();
    inner.close();
  });

  it("REQ-F10 keeps others out, in this process and in another, until it lets go", async () => {
    const locks = make();
    const { end } = await occupy(locks, [key("a")]);
    const order: string[] = [];
    const inside = locks.hold([key("a")], async () => void order.push("inside"));
    const outside = make({ database: others }).hold([key("a")], async () => void order.push("outside"));
    await make({ database: others }).hold([key("b")], async () => void order.push("other key"));
    await sleep(60);
    expect(order).toEqual(["other key"]);
    await end();
    await Promise.all([inside, outside]);
    expect(order.toSorted()).toEqual(["inside", "other key", "outside"]);
  });

  it("serves callers of one process in the order they came", async () => {
    const locks = make();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        locks.hold([key("a")], async () => {
          await Promise.resolve();
          order.push(i);
        }),
      ),
    );
    expect(order).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  it("of several keys in any order never ends in a deadlock", async () => {
    const here = make();
    const there = make({ database: others });
    let inside = 0;
    const work = async (): Promise<void> => {
      expect(++inside).toBe(1);
      await sleep(1);
      inside--;
    };
    const orders = [
      ["a", "b", "c"],
      ["c", "b", "a"],
      ["b", "a"],
      ["c", "b"],
    ].map((names) => names.map(key));
    await Promise.all(orders.flatMap((keys) => [here.hold(keys, work), there.hold(keys, work)]));
  });

  it("takes all keys or none", async () => {
    const { end } = await occupy(make({ database: others }), [key("b")]);
    const locks = make({ settings: () => ({ waitMs: 50, leaseMs: 15_000 }) });
    await expect(locks.hold([key("a"), key("b"), key("c")], async () => {})).rejects.toMatchObject({
      code: "busy",
    });
    expect(locks.list().map((lock) => lock.key)).toEqual([key("b")]);
    await locks.hold([key("a"), key("c")], async () => {});
    await end();
  });
});

describe("REQ-F10 waiting", () => {
  const impatient = { settings: () => ({ waitMs: 60, leaseMs: 15_000 }) };

  it.each(["this process", "another process"])(
    "ends as busy, with the path, when %s holds on",
    async (who) => {
      const locks = make(impatient);
      const { end } = await occupy(who === "this process" ? locks : make({ database: others }), [
        key("src/a.ts"),
      ]);
      const started = performance.now();
      await expect(locks.hold([key("src/a.ts")], async () => expect.fail("ran"))).rejects.toMatchObject({
        code: "busy",
        retryable: true,
        message: expect.stringContaining('"src/a.ts"'),
        details: { path: "src/a.ts" },
      });
      expect(performance.now() - started).toBeLessThan(1000);
      await end();
      await locks.hold([key("src/a.ts")], async () => {});
    },
  );

  it.each(["this process", "another process"])("ends with the caller, when %s holds on", async (who) => {
    const locks = make();
    const { end } = await occupy(who === "this process" ? locks : make({ database: others }), [key("a")]);
    const stop = new AbortController();
    const waiting = locks.hold([key("a")], async () => expect.fail("ran"), stop.signal);
    setTimeout(() => stop.abort(), 20);
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    await end();
    await locks.hold([key("a")], async () => {});
    await expect(locks.hold([key("a")], async () => {}, stop.signal)).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  it("outlasts a database that is busy for a while", async () => {
    others.db().exec("BEGIN IMMEDIATE");
    const waiting = make().hold([key("a")], async () => "done");
    await sleep(50);
    others.db().exec("COMMIT");
    expect(await waiting).toBe("done");
  });

  it("is fair between processes, also where one always has a next caller", async () => {
    const until = performance.now() + 1500;
    const counts = [0, 0];
    const busyLoop = async (locks: Locks, i: number): Promise<void> => {
      while (performance.now() < until) {
        await locks.hold([key("a")], async () => {
          await sleep(3);
          counts[i] = (counts[i] ?? 0) + 1;
        });
      }
    };
    const sides = [make(), make({ database: others })];
    await Promise.all(sides.flatMap((locks, i) => Array.from({ length: 5 }, () => busyLoop(locks, i))));
    expect(Math.min(...counts)).toBeGreaterThan(Math.max(...counts) / 10);
  });
});

describe("FAIL-A18 a lease", () => {
  it("of a process that is gone is taken over at once", async () => {
    row({ pid: 2 ** 22 + 5 });
    expect(make().list()).toMatchObject([{ isDead: true }]);
    const started = performance.now();
    await make().hold([key("a")], async ({ commit }) => commit(() => {}));
    expect(performance.now() - started).toBeLessThan(500);
  });

  it("of an earlier process with the same number is taken over at once", async () => {
    row({ birth: createOwners(process.pid).self().birth.replace(/^\d*/, "1") });
    await make({ settings: () => ({ waitMs: 0, leaseMs: 1000 }) }).hold([key("a")], async () => {});
  });

  it("of a process that cannot be seen from here stands until it expires", async () => {
    const expires = Date.now() + 300;
    row({ pid: 2 ** 22 + 5, birth: "1@other-boot/pid:[1]", expires });
    await make().hold([key("a")], async () => {});
    expect(Date.now()).toBeGreaterThanOrEqual(expires);
  });

  it("is renewed while it is held", async () => {
    // Renewed every third of the lease: long enough that a busy machine does not miss three turns.
    const short = { settings: () => ({ waitMs: 10_000, leaseMs: 900 }) };
    const { lease, end } = await occupy(make(short), [key("a")]);
    let isTaken = false;
    const next = make({ ...short, database: others }).hold([key("a")], async () => {
      isTaken = true;
    });
    await sleep(1500);
    expect(isTaken).toBe(false);
    expect(lease.commit(() => "kept")).toBe("kept");
    await end();
    await next;
  });

  it("that ran out is taken over, and the late writer is refused with nothing done", async () => {
    let clock = Date.now();
    const locks = make({ now: () => clock });
    const { lease, end } = await occupy(locks, [key("a"), key("b")]);
    clock += 16_000;
    const later = await make({ database: others, now: () => clock }).hold(
      [key("b")],
      async ({ fence }) => fence,
    );
    expect(later).toBeGreaterThan(lease.fence);
    let ran = false;
    const late = (): void =>
      lease.commit(() => {
        ran = true;
      });
    expect(late).toThrow(expect.objectContaining({ code: "busy", retryable: true }));
    expect(ran).toBe(false);
    await end();
    expect(late).toThrow(expect.objectContaining({ code: "busy" }));
  });

  it("that ran out still counts while nobody wanted it", async () => {
    let clock = Date.now();
    const { lease, end } = await occupy(make({ now: () => clock }), [key("a")]);
    clock += 60_000;
    expect(lease.commit(() => "kept")).toBe("kept");
    await end();
  });

  it("does not take back what the next holder has", async () => {
    let clock = Date.now();
    const first = await occupy(make({ now: () => clock }), [key("a")]);
    clock += 16_000;
    const second = await occupy(make({ database: others, now: () => clock }), [key("a")]);
    await first.end();
    expect(second.lease.commit(() => "kept")).toBe("kept");
    await second.end();
  });

  it("FAIL-D7 of a clock that was set back holds nobody up for longer than it lasts", async () => {
    row({ expires: Date.now() + 3_600_000, lease_ms: 200 });
    await make().hold([key("a")], async () => {});
  });

  it("is lost with the database, and the writer is told", async () => {
    const { lease, end } = await occupy(make(), [key("a")]);
    others.close();
    rmSync(join(workspace, "state"), { recursive: true });
    expect(() => lease.commit(() => expect.fail("ran"))).toThrow(expect.objectContaining({ code: "busy" }));
    await end();
  });
});

describe("the last step", () => {
  it("runs alone: nobody can take anything meanwhile", async () => {
    await make().hold([key("a")], async ({ commit }) => {
      commit(() => {
        expect(() => others.transact(() => {}, 0)).toThrow(expect.objectContaining({ code: "busy" }));
      });
    });
  });

  it("may fail with an error of its own, and may come more than once", async () => {
    await make().hold([key("a")], async ({ commit }) => {
      expect(() =>
        commit(() => {
          throw new Error("EXDEV");
        }),
      ).toThrow("EXDEV");
      expect(commit(() => 2)).toBe(2);
    });
  });
});
