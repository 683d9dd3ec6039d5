import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import type { FileChange } from "../host/write/contract.ts";
import { revealFromDisk } from "./disk-text.ts";
import { applyHunks, type MovedHunk } from "./edits/apply-patch.ts";
import { type FilePatch, parsePatch } from "./edits/parse-patch.ts";
import type { Reveal } from "./edits/reveal.ts";
import { defineTool } from "./tool.ts";

/** A change may be computed more than once; the last one is what was written. */
type OnMoved = (moved: readonly MovedHunk[]) => void;

const toChange = (patch: FilePatch, reveal: Reveal, onMoved: OnMoved): FileChange => {
  const change = (text: string): string => {
    const patched = applyHunks(text, patch, reveal);
    onMoved(patched.moved);
    return patched.text;
  };
  switch (patch.kind) {
    case "create":
      return { kind: "create", path: patch.path, text: applyHunks("", patch, reveal).text };
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

const shiftOf = ({ from, to }: MovedHunk): number | undefined => (from === undefined ? undefined : to - from);

/** Neighbours that moved by as many lines are one note, with the lines of the first. */
const describeMoved = (moved: readonly MovedHunk[]): string => {
  const runs: MovedHunk[][] = [];
  for (const one of moved) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    const isNext =
      last?.hunk === one.hunk - 1 && shiftOf(one) !== undefined && shiftOf(last) === shiftOf(one);
    if (isNext) run?.push(one);
    else runs.push([one]);
  }
  return runs
    .map(([first, ...others]) => {
      const line = first?.from === undefined ? `line ${first?.to}` : `line ${first.from} → ${first.to}`;
      return others.length === 0
        ? `hunk ${first?.hunk}: ${line}`
        : `hunks ${first?.hunk}–${others.at(-1)?.hunk}: ${line} …`;
    })
    .join(", ");
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
          /** Hunks that went to another line of the old file than @@ says. */
          moved: z.array(z.object({ hunk: z.int(), from: z.int().optional(), to: z.int() })).optional(),
        }),
      ),
    }),
    meta: z.object({ dry_run: z.boolean() }),
  }),
  run: async ({ patch, dry_run }, { writes }, call) => {
    const patches = parsePatch(patch);
    refuseTwice(patches);
    const moved = new Map<FilePatch, readonly MovedHunk[]>();
    const reveal = revealFromDisk(call);
    const changes = patches.map((file) => toChange(file, reveal, (hunks) => void moved.set(file, hunks)));
    await writes.applyAll(changes, { dryRun: dry_run }, call.signal);
    const files = patches.map((file) => {
      const { path, kind, hunks } = file;
      const elsewhere = moved.get(file) ?? [];
      return {
        path,
        kind,
        hunks: hunks.length,
        ...(elsewhere.length === 0 ? {} : { moved: [...elsewhere] }),
      };
    });
    return { data: { files }, meta: { dry_run } };
  },
  render: ({ data, meta }) => {
    const what = data.files.map(({ path, kind, moved }) => {
      const notes = [
        ...(kind === "update" ? [] : [kind]),
        ...(moved === undefined ? [] : [describeMoved(moved)]),
      ];
      return notes.length === 0 ? path : `${path} (${notes.join("; ")})`;
    });
    return `${meta.dry_run ? "fits" : "ok"}: ${what.join(", ")}`;
  },
});
