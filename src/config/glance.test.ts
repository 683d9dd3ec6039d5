import { describe, expect, test } from "vitest";
import { glanceAt } from "./glance.ts";

const DEFAULTS = { "mcp.te": { enabled: true, timeout: 30 }, "mcp.session": { default_model: "unknown" } };

describe("a glance at the configuration", () => {
  test("takes what is plainly right, however it is written, and leaves other tables alone", () => {
    const text = '[mcp]\nte.timeout = 5\nsession = { default_model = "m" }\n[mcp.other]\nx = [1]\n';
    expect(glanceAt(text, DEFAULTS)).toEqual({
      "mcp.te": { enabled: true, timeout: 5 },
      "mcp.session": { default_model: "m" },
    });
    expect(glanceAt("", DEFAULTS)).toEqual(DEFAULTS);
  });

  test.each([
    "[mcp.te]\nenabeld = true",
    '[mcp.te]\ntimeout = "5"',
    "[mcp.te]\ntimeout = -1",
    "[mcp.te]\ntimeout = 1.5",
    "[mcp.te]\n__proto__ = 1",
    "[mcp]\nte = 3",
    "mcp = [1]",
    "no toml",
  ])("leaves %j to the loader", (text) => {
    expect(glanceAt(text, DEFAULTS)).toBeUndefined();
  });
});
