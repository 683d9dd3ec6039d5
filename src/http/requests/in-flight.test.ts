import { describe, expect, test } from "vitest";
import { startDeadline } from "../../core/deadline.ts";
import { resolveTokens } from "../auth/token-registry.ts";
import { createInFlightRequests } from "./in-flight.ts";

describe("a request in flight", () => {
  test("FAIL-D5: its signal fires when its client leaves", () => {
    const request = createInFlightRequests().begin("id");
    expect(request.signal.aborted).toBe(false);
    request.end(true);
    expect(request.signal.aborted).toBe(true);
  });

  test("its signal does not fire after the whole answer, even when the connection ends later", () => {
    const request = createInFlightRequests().begin("id");
    request.end(false);
    request.end(true);
    expect(request.signal.aborted).toBe(false);
  });

  test("FAIL-D5: a client that leaves ends a call that runs under a deadline", async () => {
    const request = createInFlightRequests().begin("id");
    const deadline = startDeadline(60_000, request.signal);
    const raced = deadline.race(new Promise(() => {}));
    request.end(true);
    await expect(raced).rejects.toMatchObject({ code: "cancelled" });
    expect(deadline.signal.aborted).toBe(true);
    deadline.end();
  });
});

describe("REQ-H5: all requests in flight", () => {
  test("are counted until the last has ended, and a shutdown waits for that", async () => {
    const requests = createInFlightRequests();
    const [first, second] = [requests.begin("id"), requests.begin("id")];
    let isIdle = false;
    const idle = requests.idle().then(() => {
      isIdle = true;
    });
    first.end(false);
    await Promise.resolve();
    expect([requests.count(), isIdle]).toEqual([1, false]);
    second.end(true);
    await idle;
    expect(requests.count()).toBe(0);
  });

  test("that are aborted by a shutdown are told so, and count until they have ended", () => {
    const requests = createInFlightRequests();
    const request = requests.begin("id");
    requests.abortAll();
    expect(request.signal.reason).toMatchObject({ code: "busy" });
    expect(requests.count()).toBe(1);
    request.end(true);
    expect(requests.count()).toBe(0);
  });

  test("FAIL-E1: those of a revoked token are aborted, others are not", () => {
    const { tokens } = resolveTokens({
      defaultSecret: "one",
      entries: ["bot read env:BOT"],
      env: { BOT: "two" },
    });
    const requests = createInFlightRequests();
    const [open, kept, revoked] = [requests.begin("id"), requests.begin("id"), requests.begin("id")];
    [kept.identity, revoked.identity] = tokens;
    requests.abortWhere(({ name }) => name === "bot");
    expect([open, kept, revoked].map(({ signal }) => signal.aborted)).toEqual([false, false, true]);
    expect(revoked.signal.reason).toMatchObject({ code: "auth_failed" });
  });
});
