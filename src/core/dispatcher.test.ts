import { describe, expect, it } from "vitest";
import { TEST_CALLER } from "../../test/app.ts";
import { LlmcError } from "../base/error.ts";
import { createDispatcher } from "./dispatcher.ts";

const ORIGIN = { caller: TEST_CALLER };

const SETTINGS = { maxConcurrent: 10, maxQueued: 100, breakerThreshold: 5 };

const open = () => {
  const clock = { ms: 0 };
  const dispatcher = createDispatcher({ settings: () => SETTINGS, now: () => clock.ms, onBreaker: () => {} });
  return { clock, dispatcher };
};

const failing = (times: number, code: "unavailable" | "internal_error" = "unavailable") => {
  const state = { calls: 0 };
  const work = async (): Promise<string> => {
    if (state.calls++ < times) throw new LlmcError(code, "x", { retryable: code === "unavailable" });
    return "ok";
  };
  return { state, work };
};

describe("REQ-I7: a second try only where nothing is done twice", () => {
  it("a read that fails for a moment succeeds", async () => {
    const { dispatcher } = open();
    const { state, work } = failing(2);
    expect(await dispatcher.run({ effect: "read" }, ORIGIN, work)).toBe("ok");
    expect(state.calls).toBe(3);
  });

  it.each(["write", "execute", "egress"] as const)("a %s is never tried again", async (effect) => {
    const { dispatcher } = open();
    const { state, work } = failing(1);
    await expect(dispatcher.run({ effect }, ORIGIN, work)).rejects.toThrow();
    expect(state.calls).toBe(1);
  });

  it("nor is a read whose error will not go away, or whose caller went away", async () => {
    const { dispatcher } = open();
    const broken = failing(1, "internal_error");
    await expect(dispatcher.run({ effect: "read" }, ORIGIN, broken.work)).rejects.toThrow();
    const left = failing(1);
    await expect(
      dispatcher.run({ effect: "read" }, { ...ORIGIN, signal: AbortSignal.abort() }, left.work),
    ).rejects.toThrow();
    expect([broken.state.calls, left.state.calls]).toEqual([1, 1]);
  });
});

describe("REQ-I7: a backend that keeps failing is left alone", () => {
  it("its calls are refused at once, those of other backends are not, and it recovers by one probe", async () => {
    const { dispatcher, clock } = open();
    const index = { effect: "write", backend: "the index" } as const;
    const fail = () => dispatcher.run(index, ORIGIN, failing(1).work);
    for (let at = 0; at < 5; at++) await expect(fail()).rejects.toThrow("x");
    await expect(fail()).rejects.toThrow("the index has failed 5 times within a minute");
    expect(await dispatcher.run({ effect: "read", backend: "other" }, ORIGIN, async () => "ok")).toBe("ok");
    const other = { caller: { ...TEST_CALLER, principal: "other" } };
    expect(await dispatcher.run(index, other, async () => "ok")).toBe("ok");
    expect(dispatcher.breakers()).toEqual({ "the index": "open", other: "closed" });
    clock.ms += 2_000;
    expect(await dispatcher.run(index, ORIGIN, async () => "ok")).toBe("ok");
    expect(dispatcher.breakers()["the index"]).toBe("closed");
  });
});

describe("REQ-I7: slots by effect", () => {
  it("changes alone and commands alone take at most half of them, calls to other machines a tenth", () => {
    const { dispatcher } = open();
    const taken = (effect: "read" | "write" | "execute" | "egress") => {
      let count = 0;
      while (dispatcher.slotsOf(effect).tryEnter("p")) count++;
      return count;
    };
    expect([taken("read"), taken("write"), taken("execute"), taken("egress")]).toEqual([10, 5, 5, 1]);
  });
});
