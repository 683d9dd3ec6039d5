import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { shaInput, shortSha } from "./sha.ts";
import { defineTool } from "./tool.ts";

const parentOf = (path: string): string =>
  path.slice(0, Math.max(path.lastIndexOf("/"), 0)) || (path.startsWith("/") ? "/" : ".");

export const linuxFsWrite = defineTool({
  name: "linux_fs_write",
  description: "Write a text file whole, or append to it.",
  effect: "write",
  pathArgument: "path",
  input: z.strictObject({
    path: z.string().min(1),
    content: z.string(),
    mode: z.enum(["rewrite", "append"]).default("rewrite"),
    expected_sha256: shaInput.nullish().describe("refuse if the file differs"),
  }),
  output: z.object({ bytes_written: z.int(), new_sha256: z.string() }),
  run: async ({ path, content, mode, expected_sha256 }, { writes }, { signal }) => {
    const write = () => writes[mode](path, content, { expectedSha256: expected_sha256 ?? undefined }, signal);
    const { bytesWritten, sha256 } = await write().catch(async (thrown: unknown) => {
      // A new file in a new folder: hybrid mode has no tool to make the folder first.
      if (!(thrown instanceof LlmcError) || thrown.code !== "file_not_found") throw thrown;
      await writes.makeDirs(parentOf(path), { existOk: true }, signal);
      return write();
    });
    return { bytes_written: bytesWritten, new_sha256: sha256 };
  },
  render: ({ bytes_written, new_sha256 }) => `ok: ${bytes_written} bytes, sha256 ${shortSha(new_sha256)}`,
});
