import { describe, expect, test } from "vitest";
import { startDeadline } from "../core/deadline.ts";
import { createVisits, type Visit } from "./visits.ts";

const listen = (visit: Visit) => {
  const heard = { times: 0, handleEvent: () => void heard.times++ };
  visit.addEventListener("abort", heard);
  return heard;
};

describe("a visit", () => {
  test("FAIL-D5: whose client goes tells everybody who listens, once, by both kinds of signal", () => {
    const visit = createVisits().begin();
    const heard = [listen(visit), listen(visit)];
    const { signal } = visit;
    expect([visit.aborted, signal.aborted]).toEqual([false, false]);
    visit.end(true);
    visit.end(true);
    expect(heard.map(({ times }) => times)).toEqual([1, 1]);
    expect([visit.aborted, signal.aborted]).toEqual([true, true]);
  });

  test("that was answered in full tells nobody, also when its connection ends later", () => {
    const visit = createVisits().begin();
    const heard = listen(visit);
    visit.end(false);
    visit.end(true);
    expect(heard.times).toBe(0);
    expect(visit.signal.aborted).toBe(false);
  });

  test("has a signal that has fired for whoever asks too late", () => {
    const visit = createVisits().begin();
    visit.end(true);
    expect(visit.signal.aborted).toBe(true);
  });

  test("forgets a listener that is taken away, and no other", () => {
    const visit = createVisits().begin();
    const [kept, gone] = [listen(visit), listen(visit)];
    visit.removeEventListener("abort", gone);
    visit.end(true);
    expect([kept.times, gone.times]).toEqual([1, 0]);
  });

  test("FAIL-D5: ends a call that runs under a deadline", async () => {
    const visit = createVisits().begin();
    const deadline = startDeadline(60_000, visit);
    const raced = deadline.race(new Promise(() => {}));
    visit.end(true);
    await expect(raced).rejects.toMatchObject({ code: "cancelled" });
    expect(deadline.signal.aborted).toBe(true);
    deadline.end();
  });
});

describe("REQ-H5: all visits", () => {
  test("are counted until the last has ended, and a stop waits for that", async () => {
    const visits = createVisits();
    const [first, second] = [visits.begin(), visits.begin()];
    let isIdle = false;
    const idle = visits.idle().then(() => {
      isIdle = true;
    });
    first.end(false);
    await Promise.resolve();
    expect([visits.count(), isIdle]).toEqual([1, false]);
    second.end(true);
    await idle;
    expect(visits.count()).toBe(0);
  });

  test("that are cut short are told so, and stay under way until they have ended", () => {
    const visits = createVisits();
    const visit = visits.begin();
    const heard = listen(visit);
    visits.abort();
    expect([heard.times, visits.count()]).toEqual([1, 1]);
    visit.end(true);
    expect([heard.times, visits.count()]).toEqual([1, 0]);
  });
});
