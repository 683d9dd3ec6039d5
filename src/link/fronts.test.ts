import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encode, lines as protocolLines } from "../../test/doors/fuzz-lines.ts";
import { rounds } from "../../test/rounds.ts";
import type { ChildExit } from "./child.ts";
import { createClientLines } from "./client-lines.ts";
import type { FrontChild } from "./front-process.ts";
import { Fronts } from "./fronts.ts";
import { decodeRecord, encodeRecord } from "./relay-records.ts";

test("FAIL-H2 a line that kills every front that reads it is refused after three of them", async () => {
  const lines = createClientLines();
  const refused = Promise.withResolvers<number>();
  let started = 0;
  /** Says that it is well once it has read what it was given, and dies over one line. */
  const start = async (): Promise<FrontChild> => {
    started++;
    const [input, output] = [new PassThrough(), new PassThrough()];
    const exited = Promise.withResolvers<ChildExit>();
    let isDead = false;
    const die = (): void => {
      isDead = true;
      setTimeout(() => exited.resolve({ code: null, signal: "SIGABRT" }));
    };
    let unread = "";
    input.on("data", (chunk: Buffer) => {
      const records = (unread + chunk.toString()).split("\n");
      unread = records.pop() ?? "";
      for (const record of records) {
        if (isDead) return;
        if (record.startsWith("L") && record.includes("poison")) die();
        if (record.startsWith("X")) refused.resolve(started);
        if (record.startsWith("P")) for (const part of encodeRecord("H")) output.write(part);
      }
    });
    return { pid: started, input, output, kill: die, exited: exited.promise } as unknown as FrontChild;
  };
  const ignore = (): void => {};
  const fronts = new Fronts({
    lines,
    start,
    hello: () => "{}",
    snapshot: () => undefined,
    core: () => ({ isReady: true, generation: 1 }),
    onMessage: ignore,
    onSettled: ignore,
    onSeen: ignore,
    onFailedStart: ignore,
    onStarted: ignore,
    onEnded: ignore,
    onMisfit: ignore,
  });
  await fronts.start();
  await expect.poll(() => fronts.isHealthy).toBe(true);
  fronts.add(lines.add(Buffer.from("poison")));
  expect(await refused.promise).toBe(4);
});

/** Payloads of the corpus of the protocol, in one record each, as they are and with bytes changed. */
const records = fc
  .tuple(
    fc.oneof(fc.constantFrom(..."HOFTAGDMKZWQVS"), fc.string({ maxLength: 2 })),
    fc.array(fc.oneof(fc.constantFrom("1", "2", "0", "-1", "NaN", "1e309"), fc.string({ maxLength: 5 })), {
      maxLength: 8,
    }),
    protocolLines("2025-11-25").map((line) => encode(line).bytes),
    fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }),
  )
  .map(([kind, fields, payload, changes]) => {
    const bytes = Buffer.concat([...encodeRecord(kind, fields, payload)]);
    for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
    return bytes;
  });

test("FAIL-D2 a record is what was sent, or none: bytes that are not one are refused, and nothing is thrown", () => {
  fc.assert(
    fc.property(records, (bytes) => {
      for (const line of bytes.toString("latin1").split("\n")) {
        const record = decodeRecord(Buffer.from(line, "latin1"));
        if (record === undefined) continue;
        const { kind, fields, payload } = record;
        expect([line, `${line} `]).toContain([kind, ...fields, payload.toString("latin1")].join(" "));
      }
    }),
    { numRuns: rounds(500, 10_000) },
  );
});

test("FAIL-D2 FAIL-H1 whatever a front says, each line of the client is settled once at most, and the next front goes on", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(records, { maxLength: 12 }), async (written) => {
      const lines = createClientLines();
      const settled: number[] = [];
      let started = 0;
      const good = Promise.withResolvers<void>();
      const start = async (): Promise<FrontChild> => {
        const isHostile = ++started === 1;
        const [input, output] = [new PassThrough(), new PassThrough()];
        const exited = Promise.withResolvers<ChildExit>();
        const die = (): void => exited.resolve({ code: null, signal: "SIGKILL" });
        input.on("data", (chunk: Buffer) => {
          if (isHostile) return;
          for (const [, n] of chunk.toString("latin1").matchAll(/^[LX] (\d+) /gm))
            for (const part of encodeRecord("A", [n ?? ""], "{}")) output.write(part);
          if (settled.includes(3)) good.resolve();
        });
        if (isHostile)
          setTimeout(() => {
            for (const bytes of written) output.write(bytes);
            output.write("\n?\n");
          });
        return { pid: started, input, output, kill: die, exited: exited.promise, socketPath: "" };
      };
      const ignore = (): void => {};
      const fronts = new Fronts({
        lines,
        start,
        hello: () => "{}",
        snapshot: () => undefined,
        core: () => ({ isReady: true, generation: 1 }),
        onMessage: ignore,
        onSettled: ({ n }) => {
          settled.push(n);
          if (n === 3) good.resolve();
        },
        onSeen: (text) => expect(text.length).toBeLessThan(100),
        onFailedStart: ignore,
        onStarted: ignore,
        onEnded: ignore,
        onMisfit: ignore,
      });
      await fronts.start();
      for (const text of ["1", "2"]) fronts.add(lines.add(Buffer.from(text)));
      await expect.poll(() => started, { interval: 1 }).toBeGreaterThan(1);
      fronts.add(lines.add(Buffer.from("3")));
      await good.promise;
      expect(new Set(settled).size).toBe(settled.length);
    }),
    { numRuns: rounds(60, 2000) },
  );
});

test("FAIL-H1 answers that are held for a line are bounded, of all lines together, and free again once it is settled", () => {
  const lines = createClientLines();
  const [one, other] = [lines.add(Buffer.from("1")), lines.add(Buffer.from("2"))];
  const answer = Buffer.alloc(1_000_000);
  let held = 0;
  while (held < 1000 && lines.hold(held % 2 === 0 ? one : other, answer)) held++;
  expect(held).toBeLessThan(20);
  lines.settle(one);
  expect(lines.hold(other, answer)).toBe(true);
  lines.settle(other);
  const many = lines.add(Buffer.from("3"));
  let count = 0;
  while (count < 100_000 && lines.hold(many, Buffer.alloc(0))) count++;
  expect(count).toBeLessThan(100_000);
});

/** A front that a test plays: it says what it is told to, and ends when it is told to. */
interface PlayedFront {
  readonly child: FrontChild;
  readonly received: () => string;
  say(kind: string): void;
  die(): void;
}

const playFront = (pid: number): PlayedFront => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const exited = Promise.withResolvers<ChildExit>();
  const die = (): void => exited.resolve({ code: null, signal: "SIGKILL" });
  let received = "";
  input.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  return {
    child: { pid, input, output, kill: die, exited: exited.promise, socketPath: "" },
    received: () => received,
    say: (kind) => {
      // "O" names the generation of the core.
      for (const part of encodeRecord(kind, kind === "O" ? [1] : [])) output.write(part);
    },
    die,
  };
};

/** `prepare` may end a front before anybody has seen it, or refuse to start it. */
const playFronts = (prepare: (front: PlayedFront, count: number) => void = () => {}) => {
  const lines = createClientLines();
  const played: PlayedFront[] = [];
  const ended: boolean[] = [];
  let misfits = 0;
  const ignore = (): void => {};
  const fronts = new Fronts({
    lines,
    start: async (count) => {
      const front = playFront(count);
      prepare(front, count);
      played.push(front);
      return front.child;
    },
    hello: () => "{}",
    snapshot: () => undefined,
    core: () => ({ isReady: true, generation: 1 }),
    onMessage: ignore,
    onSettled: ignore,
    onSeen: ignore,
    onFailedStart: ignore,
    onStarted: ignore,
    onEnded: (_exit, { wasActive }) => ended.push(wasActive),
    onMisfit: () => {
      misfits++;
    },
  });
  const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
  return { fronts, lines, played, ended, misfits: () => misfits, settled };
};

describe("FAIL-H2 FAIL-D8 fronts that end, or cannot be started, at any time", () => {
  test("one that was over before it was seen is started again, and the next one reads what the client sent", async () => {
    const { fronts, lines, played } = playFronts((front, count) => {
      if (count === 1) front.die();
    });
    fronts.add(lines.add(Buffer.from("a line")));
    await fronts.start();
    await expect.poll(() => fronts.pid).toBe(2);
    await expect.poll(() => played[1]?.received()).toContain("a line");
  });

  test("a candidate that was over before it was seen does not keep the next replacement from being made", async () => {
    const { fronts, played, ended } = playFronts((front, count) => {
      if (count === 2) front.die();
    });
    await fronts.start();
    await fronts.replace();
    await expect.poll(() => ended).toEqual([false]);
    await fronts.replace();
    for (const kind of ["H", "O"]) played[2]?.say(kind);
    await expect.poll(() => fronts.pid).toBe(3);
  });

  test("a replacement that was asked for during another one is made after that one's candidate has died", async () => {
    const { fronts, played } = playFronts();
    await fronts.start();
    await fronts.replace();
    await fronts.replace();
    expect(played).toHaveLength(2);
    played[1]?.die();
    await expect.poll(() => played.length).toBe(3);
    for (const kind of ["H", "O"]) played[2]?.say(kind);
    await expect.poll(() => fronts.pid).toBe(3);
  });

  test("a front that cannot speak to the core is replaced even if starts fail at first", async () => {
    const { fronts, played, misfits } = playFronts((_front, count) => {
      if (count > 1 && count < 6) throw new Error("no processes left");
    });
    await fronts.start();
    played[0]?.say("F");
    await expect.poll(() => played.length).toBe(2);
    for (const kind of ["H", "O"]) played[1]?.say(kind);
    await expect.poll(() => fronts.pid).toBe(6);
    expect(misfits()).toBe(0);
  });

  test("the core is started again only if a candidate cannot speak to it either", async () => {
    const { fronts, played, misfits, settled } = playFronts();
    await fronts.start();
    played[0]?.say("F");
    await expect.poll(() => played.length).toBe(2);
    played[1]?.die();
    await expect.poll(() => played.length).toBe(3);
    expect(misfits()).toBe(0);
    played[2]?.say("F");
    await expect.poll(misfits).toBe(1);
    await settled();
    expect(played).toHaveLength(3);
    expect(fronts.pid).toBe(1);
  });

  test("a candidate that takes over from a front that has died reads what that one had not answered", async () => {
    const { fronts, lines, played } = playFronts();
    await fronts.start();
    await fronts.replace();
    fronts.add(lines.add(Buffer.from("a line")));
    await expect.poll(() => played[0]?.received()).toContain("a line");
    for (const kind of ["H", "O"]) played[1]?.say(kind);
    played[0]?.die();
    await expect.poll(() => fronts.pid).toBeGreaterThan(1);
    await expect
      .poll(() => played.find(({ child }) => child.pid === fronts.pid)?.received())
      .toContain("a line");
  });
});
