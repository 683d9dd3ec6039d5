import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BreakerState, createCircuitBreaker, isBreakerRefusal } from "./circuit-breaker.ts";
import { LlmcError } from "./error.ts";
import type { ErrorCode } from "./error-table.ts";

const open = (threshold = 5) => {
  const clock = { ms: 1_000 };
  const states: BreakerState[] = [];
  const breaker = createCircuitBreaker({
    backend: "the index",
    threshold: () => threshold,
    now: () => clock.ms,
    onState: (state) => states.push(state),
  });
  let ran = 0;
  const attempt = (code?: ErrorCode | "not ours", wait: Promise<void> = Promise.resolve()) =>
    breaker
      .run(async () => {
        ran++;
        await wait;
        if (code === "not ours") throw new Error("x");
        if (code !== undefined) throw new LlmcError(code, "x");
        return "ok";
      })
      .then(
        () => "ok",
        (thrown: unknown) => (isBreakerRefusal(thrown) ? "refused" : "failed"),
      );
  return { clock, states, breaker, attempt, ran: () => ran };
};

describe("REQ-I7: the circuit breaker", () => {
  it("opens after five failures within a minute, and refuses without asking the backend", async () => {
    const { attempt, states, ran } = open();
    for (const code of ["unavailable", "timeout", "not ours", "unavailable", "timeout"] as const)
      expect(await attempt(code)).toBe("failed");
    expect(await attempt()).toBe("refused");
    expect([states, ran()]).toEqual([["open"], 5]);
  });

  it("says that the call can be tried again, which its hint says, too: FAIL-G6", async () => {
    const { attempt, breaker } = open(1);
    await attempt("unavailable");
    const refused = breaker.run(() => Promise.resolve("never"));
    await expect(refused).rejects.toMatchObject({ code: "unavailable", retryable: true });
  });

  it.each([new LlmcError("unavailable", "x"), new Error("x")])(
    "a failure counts in the innermost breaker alone: %s",
    async (failure) => {
      const [inner, outer] = [open(1), open(1)];
      const fail = () => Promise.reject(failure);
      await expect(outer.breaker.run(() => inner.breaker.run(fail))).rejects.toBe(failure);
      expect([inner.breaker.state(), outer.breaker.state()]).toEqual(["open", "closed"]);
    },
  );

  it("forgets failures that are older than a minute, and counts no mistakes of callers", async () => {
    const { attempt, clock, states } = open();
    for (let at = 0; at < 4; at++) await attempt("unavailable");
    for (let at = 0; at < 20; at++) await attempt("invalid_args");
    clock.ms += 60_001;
    for (let at = 0; at < 4; at++) await attempt("unavailable");
    expect(states).toEqual([]);
  });

  it("lets one probe through after two seconds; everybody else is refused meanwhile", async () => {
    const { attempt, clock, breaker, states } = open();
    for (let at = 0; at < 5; at++) await attempt("unavailable");
    clock.ms += 2_000;
    const probe = Promise.withResolvers<string>();
    const running = breaker.run(() => probe.promise);
    expect(await attempt()).toBe("refused");
    probe.resolve("well again");
    await running;
    expect(await attempt()).toBe("ok");
    expect(states).toEqual(["open", "half_open", "closed"]);
  });

  it("a failed probe waits again; one whose caller went away proves nothing and is followed by another", async () => {
    const { attempt, clock, states } = open();
    for (let at = 0; at < 5; at++) await attempt("unavailable");
    clock.ms += 2_000;
    expect(await attempt("unavailable")).toBe("failed");
    expect(await attempt()).toBe("refused");
    clock.ms += 2_000;
    expect(await attempt("cancelled")).toBe("failed");
    expect(await attempt()).toBe("ok");
    expect(states).toEqual(["open", "half_open", "open", "half_open", "open", "half_open", "closed"]);
  });

  it("a provider that fails counts, one that refuses the request does not", async () => {
    const { breaker, attempt, states } = open();
    const refused = () =>
      breaker.run(() => Promise.reject(new LlmcError("provider_error", "x", { retryable: false })));
    for (let at = 0; at < 5; at++) await expect(refused()).rejects.toThrow("x");
    expect(states).toEqual([]);
    for (let at = 0; at < 5; at++) await attempt("provider_error");
    expect(states).toEqual(["open"]);
  });

  it("a failure counts where it happened: the breaker around it does not count it again, nor its refusals", async () => {
    const inner = open();
    const outer = open();
    const attempt = () =>
      outer.breaker.run(() => inner.breaker.run(() => Promise.reject(new LlmcError("unavailable", "x"))));
    for (let at = 0; at < 10; at++) await expect(attempt()).rejects.toThrow();
    expect([inner.states, outer.states]).toEqual([["open"], []]);
  });

  it("only a probe closes it: not what began before, however it ends, nor a probe that is the caller's mistake", async () => {
    const { attempt, clock, states } = open();
    const late = Promise.withResolvers<void>();
    const earlier = (["unavailable", "invalid_args", undefined] as const).map((code) =>
      attempt(code, late.promise),
    );
    for (let at = 0; at < 5; at++) await attempt("unavailable");
    clock.ms += 1_999;
    late.resolve();
    await Promise.all(earlier);
    expect(await attempt()).toBe("refused");
    // The failure that came late does not put the probe off.
    clock.ms += 1;
    expect(await attempt("invalid_args")).toBe("failed");
    expect(states.at(-1)).toBe("open");
    expect(await attempt()).toBe("ok");
    expect(states.at(-1)).toBe("closed");
  });

  it("a probe that hangs holds nobody up: two seconds later there is another", async () => {
    const { attempt, clock, states } = open();
    for (let at = 0; at < 5; at++) await attempt("unavailable");
    clock.ms += 2_000;
    const hangs = Promise.withResolvers<void>();
    const first = attempt("timeout", hangs.promise);
    clock.ms += 1_999;
    expect(await attempt()).toBe("refused");
    clock.ms += 1;
    expect(await attempt()).toBe("ok");
    hangs.resolve();
    await first;
    expect(await attempt()).toBe("ok");
    expect(states).toEqual(["open", "half_open", "closed"]);
  });

  it("whatever happens, a backend that is well is used again within five seconds", async () => {
    const events = fc.array(
      fc.record({
        wait: fc.nat(3_000),
        code: fc.constantFrom("unavailable" as const, "invalid_args" as const, undefined),
      }),
    );
    await fc.assert(
      fc.asyncProperty(events, async (history) => {
        const { attempt, clock } = open();
        for (const { wait, code } of history) {
          clock.ms += wait;
          await attempt(code);
        }
        clock.ms += 4_999;
        expect(await attempt()).toBe("ok");
      }),
      { numRuns: 100 },
    );
  });
});
