import { describe, expect, it } from "vitest";
import { loadText } from "../../test/config-request.ts";
import { frontSettingsOf } from "./front-settings.ts";
import { refuseUnsandboxed } from "./sandbox-wanted.ts";

const settings = async (text: string) => frontSettingsOf(await loadText(text), {});

describe("REQ-D19 REQ-I2 mcp.sandbox_enabled", () => {
  it.each([
    ["left out", "", { isSplit: true, sandbox: "auto" }],
    ["left out, in one process", "mcp.subprocess = false", { isSplit: false, sandbox: "auto" }],
    ["written as true", "mcp.sandbox_enabled = true", { isSplit: true, sandbox: "required" }],
    [
      "written as true, in processes of their own",
      "mcp.subprocess = true\nmcp.sandbox_enabled = true",
      { isSplit: true, sandbox: "required" },
    ],
    ["false", "mcp.sandbox_enabled = false", { isSplit: true, sandbox: "off" }],
    [
      "false, in one process",
      "mcp.subprocess = false\nmcp.sandbox_enabled = false",
      { isSplit: false, sandbox: "off" },
    ],
  ])("%s", async (_, text, expected) => {
    expect(await settings(text)).toMatchObject(expected);
  });

  it("written as true, it does not go together with one process, and the start says what to change", async () => {
    await expect(settings("mcp.subprocess = false\nmcp.sandbox_enabled = true")).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("mcp.subprocess is false"),
      hint: expect.stringContaining("leave mcp.sandbox_enabled out"),
    });
  });

  it.each(["stdio", "HTTP"] as const)("written as true, no door of one process opens: %s", async (door) => {
    const [written, leftOut] = [await loadText("mcp.sandbox_enabled = true"), await loadText(undefined)];
    expect(() => refuseUnsandboxed(written, door)).toThrow("mcp.sandbox_enabled is true, but");
    expect(() => refuseUnsandboxed(leftOut, door)).not.toThrow();
  });
});
