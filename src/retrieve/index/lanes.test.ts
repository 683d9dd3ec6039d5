import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLanes } from "./lanes.ts";

const MIB = 1024 * 1024;

describe("lanes", () => {
  test("every file is dealt out once, whoever asks in whatever order", () => {
    const file = fc.record({
      path: fc.string({ minLength: 1, maxLength: 8 }),
      size: fc.integer({ min: 0, max: MIB }),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(file, { maxLength: 200, selector: ({ path }) => path }),
        fc.integer({ min: 1, max: 5 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 4 })),
        (files, count, askers) => {
          const lanes = createLanes(files, count);
          const dealt: string[] = [];
          for (const asker of askers) {
            const batch = lanes.next(asker % count);
            if (batch === undefined) break;
            expect(batch.length).toBeGreaterThan(0);
            dealt.push(...batch.map(({ path }) => path));
          }
          expect(dealt.toSorted()).toEqual(files.map(({ path }) => path).toSorted());
        },
      ),
    );
  });

  test("files of one kind go to one thread while it has its own", () => {
    const files = ["a.py", "b.go", "c.py", "d.go"].map((path) => ({ path, size: MIB }));
    const lanes = createLanes(files, 2);
    expect([lanes.next(0), lanes.next(1)].map((batch) => batch?.[0]?.path)).toEqual(["b.go", "a.py"]);
    expect([lanes.next(0), lanes.next(1)].map((batch) => batch?.[0]?.path)).toEqual(["d.go", "c.py"]);
    expect(lanes.next(0)).toBeUndefined();
  });

  test("who is done takes from the other", () => {
    const files = ["a.py", "b.py", "c.py", "d.py"].map((path) => ({ path, size: MIB }));
    const lanes = createLanes(files, 2);
    const taken = [lanes.next(0), lanes.next(0), lanes.next(0), lanes.next(0), lanes.next(0)];
    expect(taken.map((batch) => batch?.[0]?.path)).toEqual(["a.py", "b.py", "d.py", "c.py", undefined]);
  });
});
