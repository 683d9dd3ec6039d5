import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import type { FileChange } from "../host/write/contract.ts";
import { applyHunks } from "./edits/apply-patch.ts";
import { type FilePatch, parsePatch } from "./edits/parse-patch.ts";
import { defineTool } from "./tool.ts";

const toChange = (patch: FilePatch): FileChange => {
  const change = (text: string): string => applyHunks(text, patch);
  switch (patch.kind) {
    case "create":
      return { kind: "create", path: patch.path, text: change("") };
    case "delete":
      return {
        kind: "delete",
        path: patch.path,
        check: (text) => {
          if (change(text) === "") return;
          throw new LlmcError(
            "text_not_found",
            `${quoteForMessage(patch.path)} has more lines than the patch deletes; nothing was written.`,
          );
        },
      };
    case "rename":
      return { kind: "rename", path: patch.path, target: patch.target ?? patch.path, change };
    case "update":
      return { kind: "update", path: patch.path, change };
  }
};

/** Two parts for one file would be applied to the same old text, and the second would undo the first. */
const refuseTwice = (patches: readonly FilePatch[]): void => {
  const seen = new Set<string>();
  for (const path of patches.flatMap(({ path: own, target }) =>
    target === undefined ? [own] : [own, target],
  )) {
    if (seen.has(path))
      throw new LlmcError("invalid_args", `${quoteForMessage(path)} is in the patch twice.`, {
        hint: "Put all hunks of a file under one header.",
      });
    seen.add(path);
  }
};

export const repoWritePatch = defineTool({
  name: "repo_write_patch",
  description: "Apply a unified diff over any number of files, all or nothing.",
  effect: "write",
  input: z.strictObject({
    patch: z.string().min(1),
    dry_run: z.boolean().default(false).describe("only check"),
  }),
  output: z.object({
    data: z.object({
      files: z.array(
        z.object({
          path: z.string(),
          kind: z.enum(["update", "create", "delete", "rename"]),
          hunks: z.int(),
        }),
      ),
    }),
    meta: z.object({ dry_run: z.boolean() }),
  }),
  run: async ({ patch, dry_run }, { writes }, { signal }) => {
    const patches = parsePatch(patch);
    refuseTwice(patches);
    await writes.applyAll(patches.map(toChange), { dryRun: dry_run }, signal);
    return {
      data: { files: patches.map(({ path, kind, hunks }) => ({ path, kind, hunks: hunks.length })) },
      meta: { dry_run },
    };
  },
  render: ({ data, meta }) => {
    const what = data.files.map(({ path, kind }) => (kind === "update" ? path : `${path} (${kind})`));
    return `${meta.dry_run ? "fits" : "ok"}: ${what.join(", ")}`;
  },
});
