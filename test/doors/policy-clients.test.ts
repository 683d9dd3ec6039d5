import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { createWorkspace } from "../workspace.ts";

test("REQ-I4 REQ-C5: a client is told of a list that a policy changed, and sees the new one; resources are decided on, too", async () => {
  const policies = tempWorkspace();
  await using workspace = await createWorkspace({
    "llmc.toml": '[mcp]\nmode = "classic"\n[mcp.resources]\nsidecars = ["NOTES.md"]\n',
    "NOTES.md": "notes\n",
  });
  const server = await workspace.start({
    args: ["--set", `mcp.security.policy_files=${join(policies, "*.cedar")}`],
  });
  expect(await server.toolNames()).toContain("stat");
  const { result } = await server.request("resources/list");
  const [{ uri } = { uri: "" }] = (result as { resources: { uri: string }[] }).resources;
  expect((await server.request("resources/read", { uri })).error).toBeUndefined();
  writeFileSync(
    join(policies, "my.cedar"),
    '@id("no-stat")\nforbid(principal, action == Action::"stat", resource);\n@id("no-reading")\nforbid(principal, action == Action::"resources/read", resource);\n',
  );
  await server.until(
    () => server.messages.some(({ method }) => method === "notifications/tools/list_changed"),
    "the notification",
  );
  expect(await server.toolNames()).not.toContain("stat");
  expect(await server.toolNames()).toContain("read_file");
  expect((await server.request("resources/read", { uri })).error).toMatchObject({
    message: expect.stringContaining("The policy no-reading does not allow resources/read."),
  });
});
