import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkspace } from "../../../test/workspace.ts";
import { createDisk } from "./disk.ts";

test("REQ-C8 a missing file is no error, one below a file is, and below /dev/null there is nothing", async () => {
  await using workspace = await createWorkspace({ "file.txt": "text" });
  const disk = createDisk();
  const at = (path: string): string => join(workspace.root, path);
  expect(await disk.readText(at("file.txt"))).toBe("text");
  for (const path of [at("none"), at("none/config.toml"), "/dev/null/.config/llmc/config.toml"]) {
    expect(await disk.readText(path)).toBeUndefined();
    expect(await disk.exists(path)).toBe(false);
    expect(await disk.resolveFile(path)).toBeUndefined();
  }
  const below = at("file.txt/llmc/config.toml");
  await expect(disk.readText(below)).rejects.toMatchObject({ code: "ENOTDIR" });
  expect(await disk.exists(below)).toBe(false);
});
