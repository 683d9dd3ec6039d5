import { expect, test } from "vitest";
import { spend } from "./pause-loop.ts";

const idle = { left: 250, measuredAt: 0, cpuMs: 0, isPaused: false };

test("REQ-I1 a short burst is free, and an idle program never earns more than one", () => {
  expect(spend(idle, 100, 100, 0.5)).toMatchObject({ left: 200, isPaused: false });
  expect(spend(idle, 60_000, 0, 0.5)).toMatchObject({ left: 250, isPaused: false });
});

test("REQ-I1 what is used beyond the share is paid back before it runs on", () => {
  const paused = spend(idle, 600, 600, 0.5);
  expect(paused).toMatchObject({ left: -50, isPaused: true });
  expect(spend(paused, 700, 600, 0.5)).toMatchObject({ left: 0, isPaused: true });
  expect(spend(paused, 800, 600, 0.5)).toMatchObject({ left: 50, isPaused: false });
});

test("REQ-I1 two threads at once cost twice", () => {
  expect(spend(idle, 200, 400, 0.5)).toMatchObject({ left: -50, isPaused: true });
});

test("REQ-I1 over a minute, a program that always wants more gets its share and one burst", () => {
  let budget = idle;
  let cpuMs = 0;
  for (let now = 25; now <= 60_000; now += 25) {
    if (!budget.isPaused) cpuMs += 25;
    budget = spend(budget, now, cpuMs, 0.5);
  }
  expect(cpuMs).toBeGreaterThan(29_500);
  expect(cpuMs).toBeLessThanOrEqual(30_000 + 250 + 25);
});
