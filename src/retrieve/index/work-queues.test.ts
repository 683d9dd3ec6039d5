import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWorkQueues } from "./work-queues.ts";

const MIB = 1024 * 1024;

describe("work queues", () => {
  test("every file is handed out once, whichever thread asks in whichever order", () => {
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
          const queues = createWorkQueues(files, count);
          const dealt: string[] = [];
          for (const asker of askers) {
            const batch = queues.next(asker % count);
            if (batch === undefined) break;
            expect(batch.length).toBeGreaterThan(0);
            dealt.push(...batch.map(({ path }) => path));
          }
          expect(dealt.toSorted()).toEqual(files.map(({ path }) => path).toSorted());
        },
      ),
    );
  });

  test("files with one extension go to one thread while its queue lasts", () => {
    const files = ["a.py", "b.go", "c.py", "d.go"].map((path) => ({ path, size: MIB }));
    const queues = createWorkQueues(files, 2);
    expect([queues.next(0), queues.next(1)].map((batch) => batch?.[0]?.path)).toEqual(["b.go", "a.py"]);
    expect([queues.next(0), queues.next(1)].map((batch) => batch?.[0]?.path)).toEqual(["d.go", "c.py"]);
    expect(queues.next(0)).toBeUndefined();
  });

  test("a thread whose queue is empty takes from another queue", () => {
    const files = ["a.py", "b.py", "c.py", "d.py"].map((path) => ({ path, size: MIB }));
    const queues = createWorkQueues(files, 2);
    const taken = [queues.next(0), queues.next(0), queues.next(0), queues.next(0), queues.next(0)];
    expect(taken.map((batch) => batch?.[0]?.path)).toEqual(["a.py", "b.py", "d.py", "c.py", undefined]);
  });
});
