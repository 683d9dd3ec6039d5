import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { revealFromDisk } from "./disk-text.ts";
import { smallDiff } from "./edits/small-diff.ts";
import { applyEdits, type TextEdit } from "./edits/text-edit.ts";
import { shaInput, shortSha } from "./sha.ts";
import { defineTool } from "./tool.ts";

const count = z.int().min(1).max(1_000_000_000).default(1);

const edit = z.strictObject({
  old_text: z.string().min(1),
  new_text: z.string(),
  expected_replacements: count,
});

const toEdit = ({ old_text, new_text, expected_replacements }: z.output<typeof edit>): TextEdit => ({
  oldText: old_text,
  newText: new_text,
  expectedReplacements: expected_replacements,
});

export const linuxFsEdit = defineTool({
  name: "linux_fs_edit",
  description:
    "Replace exact text in a file: old_text by new_text, or several edits at once, all or nothing.",
  effect: "write",
  pathArgument: "path",
  input: z.strictObject({
    path: z.string().min(1),
    old_text: z.string().min(1).optional(),
    new_text: z.string().optional(),
    expected_replacements: count,
    edits: z.array(edit).min(1).optional(),
    expected_sha256: shaInput.nullish(),
  }),
  output: z.object({
    replacements: z.int(),
    bytes_written: z.int(),
    new_sha256: z.string(),
    /** The changed lines, as many as fit into a few tokens. */
    diff: z.string(),
  }),
  run: async (
    { path, old_text, new_text, expected_replacements, edits, expected_sha256 },
    { writes },
    call,
  ) => {
    const { signal } = call;
    const reveal = revealFromDisk(call);
    const isSingle = old_text !== undefined && new_text !== undefined;
    if (isSingle === (edits !== undefined)) {
      throw new LlmcError("invalid_args", "Give either old_text and new_text, or edits.", {
        details: { field: isSingle ? "edits" : "old_text" },
      });
    }
    const wanted = edits?.map(toEdit) ?? [
      toEdit({ old_text: old_text ?? "", new_text: new_text ?? "", expected_replacements }),
    ];
    let diff = "";
    const written = await writes.update(
      path,
      async (text, maxChars) => {
        const changed = await applyEdits(text, wanted, { maxChars, signal, reveal });
        diff = reveal(() => smallDiff(text, changed)) ?? "";
        return changed;
      },
      { expectedSha256: expected_sha256 ?? undefined },
      signal,
    );
    return {
      replacements: wanted.reduce((sum, { expectedReplacements }) => sum + expectedReplacements, 0),
      bytes_written: written.bytesWritten,
      new_sha256: written.sha256,
      diff,
    };
  },
  render: ({ replacements, new_sha256, diff }) =>
    `ok: ${replacements} replaced, sha256 ${shortSha(new_sha256)}${diff === "" ? "" : `\n${diff}`}`,
});
