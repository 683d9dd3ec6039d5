import { describe, expect, it } from "vitest";
import { loadText } from "../../test/config-request.ts";
import { frontSettingsOf } from "./front-settings.ts";
import { isSplitWanted, refuseUnsandboxed, unmetSplit } from "./sandbox-wanted.ts";

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

  it("written as true, no start in one process opens a door", async () => {
    const [written, leftOut] = [await loadText("mcp.sandbox_enabled = true"), await loadText(undefined)];
    expect(() => refuseUnsandboxed(written)).toThrow("mcp.sandbox_enabled is true, but");
    expect(() => refuseUnsandboxed(leftOut)).not.toThrow();
  });
});

describe("REQ-I2 with TLS, HTTP is served by one process, because the key must not be where requests are parsed", () => {
  const TLS = "mcp.server.tls_enabled = true";

  it("left out, the start says so; over stdio it makes no difference", async () => {
    const loaded = await loadText(TLS);
    expect([isSplitWanted(loaded, "HTTP"), isSplitWanted(loaded, "stdio")]).toEqual([false, true]);
    expect(unmetSplit(loaded)).toContain(
      "with TLS, what parses requests over HTTP runs in the process that does the work",
    );
    expect(unmetSplit(await loadText(undefined))).toBeUndefined();
    expect(unmetSplit(await loadText(`${TLS}\nmcp.subprocess = false`))).toBeUndefined();
  });

  it("together with sandbox_enabled = true it is refused, with the way out", async () => {
    const loaded = await loadText(`${TLS}\nmcp.sandbox_enabled = true`);
    expect(() => isSplitWanted(loaded, "HTTP")).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("a proxy in front that serves HTTPS") }),
    );
  });
});
