import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { ERROR_TABLE } from "../../src/base/error-table.ts";
import { modeCost } from "../../src/cli/tools-command.ts";
import { ENTRIES } from "../../src/config/sections.ts";
import { MODES } from "../../src/core/options.ts";
import { tokenCounter } from "../../src/host/os/token-counter.ts";
import { VERSION } from "../../src/wiring/version.ts";
import { openTestApp } from "../app.ts";

const count = await tokenCounter();

/** Frozen literals of everything that clients, operators and scripts rely on. A change here is a change for strangers. */
const pin = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

test.each(MODES)("REQ-D7 REQ-M7: the tool list and its token cost in %s mode are pinned", async (mode) => {
  const { core } = await openTestApp();
  const { tools, tokens, bytes } = await modeCost(core, mode, count);
  const costs = Object.fromEntries(tools.map((tool) => [tool.name, tool.tokens]));
  await expect(pin({ tokens, bytes, costs, published: await core.preview(mode) })).toMatchFileSnapshot(
    `./tools-${mode}.json`,
  );
});

test("REQ-M7: hybrid stays under 5 KB and 1,000 tokens, classic under 5,000 tokens", async () => {
  const { core } = await openTestApp();
  const hybrid = await modeCost(core, "hybrid", count);
  expect(hybrid.tokens).toBeLessThan(1000);
  expect(hybrid.bytes).toBeLessThan(5 * 1024);
  expect((await modeCost(core, "classic", count)).tokens).toBeLessThan(5000);
});

test("REQ-D2: error codes, statuses and exit codes are pinned", async () => {
  await expect(pin(ERROR_TABLE)).toMatchFileSnapshot("./errors.json");
});

test("REQ-C1: configuration keys, variables and defaults are pinned", async () => {
  const keys = [...ENTRIES.values()].map(({ key, variable, option }) => ({
    key,
    variable,
    default: option.default,
  }));
  await expect(pin(keys)).toMatchFileSnapshot("./config-keys.json");
});

test("the version in the program is the package's", () => {
  expect(VERSION).toBe(packageJson.version);
});
