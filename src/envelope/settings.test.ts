import { expect, test } from "vitest";
import { buildConfig } from "../config/sections.ts";
import { budgetOf, envelopeSettings } from "./settings.ts";

test("REQ-X6 a profile has the budget that is configured for it, never more than everybody's", () => {
  const settings = {
    sessionTokenBudget: 1000,
    budgetProfiles: ["M5-debug 200", "big 5_000", "odd x", "zero 0"],
  };
  expect(budgetOf(settings, "M5-debug")).toBe(200);
  expect(budgetOf(settings, "big")).toBe(1000);
  expect(budgetOf({ ...settings, sessionTokenBudget: 0 }, "big")).toBe(5000);
  for (const profile of ["", undefined, "unknown", "odd", "zero", "M5"])
    expect(budgetOf(settings, profile)).toBe(1000);
});

test("REQ-X1 mcp.tools.exec_timeout is the timeout of a command, raised or lowered; mcp.te.timeout only shortens it", () => {
  const inForce = (exec: number, timeout?: number) => {
    const { te } = buildConfig(new Map()).mcp;
    const gate = { timeoutSeconds: exec, maxTimeoutSeconds: 600, hasNetwork: false };
    const { timeoutSeconds, timeoutKey } = envelopeSettings(
      { ...te, ...(timeout === undefined ? {} : { timeout }) },
      64,
      gate,
    );
    return [timeoutSeconds, timeoutKey];
  };
  for (const exec of [5, 30, 120]) expect(inForce(exec)).toEqual([exec, "mcp.tools.exec_timeout"]);
  expect(inForce(120, 10)).toEqual([10, "mcp.te.timeout"]);
  expect(inForce(60, 90)).toEqual([60, "mcp.tools.exec_timeout"]);
});
