import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { watchPolicyFiles } from "./policy-files.ts";

test("FAIL-J8 REQ-C5: policies are watched where links lead, and in folders that come and go", async () => {
  const root = tempWorkspace({ "dotfiles/a.cedar": "1", "other/b.cedar": "1" });
  const at = (path: string): string => join(root, path);
  let calls = 0;
  onTestFinished(
    watchPolicyFiles({ operators: [at("config/policies/*.cedar")], others: [] }, () => void calls++),
  );
  const noticed = async (change: () => void): Promise<void> => {
    const before = calls;
    change();
    await vi.waitFor(() => expect(calls).toBeGreaterThan(before), { timeout: 5000, interval: 5 });
  };
  mkdirSync(at("config/policies"), { recursive: true });
  await noticed(() => writeFileSync(at("config/policies/x.cedar"), "1"));
  await noticed(() => symlinkSync(at("dotfiles/a.cedar"), at("config/policies/a.cedar")));
  await noticed(() => writeFileSync(at("dotfiles/a.cedar"), "2"));
  await noticed(() => renameSync(at("config/policies"), at("config/old")));
  await noticed(() => symlinkSync(at("other"), at("config/policies")));
  await noticed(() => writeFileSync(at("other/b.cedar"), "2"));
  await noticed(() => rmSync(at("config/policies")));
  const before = calls;
  for (const name of ["config/notes.txt", "config/old/notes.txt", "notes.txt"]) writeFileSync(at(name), "");
  await sleep(600);
  expect(calls).toBe(before);
});
