import { z } from "zod";
import { defineTool } from "./tool.ts";
import { renderUnread, toUnread, unreadShape } from "./unread.ts";

const left = z.object({ path: z.string(), reason: z.string() });

export const ragStats = defineTool({
  name: "rag_stats",
  description: "State of the index.",
  effect: "read",
  backend: "the index",
  input: z.strictObject({}),
  output: z.object({
    data: z.object({
      state: z.enum(["ready", "building"]),
      done: z.int(),
      total: z.int(),
      files: z.int(),
      chunks: z.int(),
      bytes: z.int(),
      languages: z.array(z.object({ language: z.string(), files: z.int(), chunks: z.int() })),
      fallbacks: z.object({ total: z.int(), first: z.array(left) }),
      skipped: z.object({ binary: z.int(), large: z.int(), first: z.array(left) }),
      unread: unreadShape,
      embedder: z.string(),
      /** Milliseconds since the epoch; null: never. */
      scanned_at: z.number().nullable(),
      watching: z.boolean(),
      kept: z.boolean(),
    }),
    meta: z.object({}),
  }),
  run: async (_, { retrieval }, { signal }) => {
    const stats = await retrieval.stats(signal);
    const first = (files: readonly { readonly path: string; readonly reason: string }[]) =>
      files.map(({ path, reason }) => ({ path, reason }));
    return {
      data: {
        ...stats.index,
        files: stats.files,
        chunks: stats.chunks,
        bytes: stats.bytes,
        languages: stats.languages.map((one) => ({ ...one })),
        fallbacks: { total: stats.fallbacks.total, first: first(stats.fallbacks.first) },
        skipped: {
          binary: stats.skipped.binary,
          large: stats.skipped.large,
          first: first(stats.skipped.first),
        },
        ...toUnread(stats.unread),
        embedder: stats.embedder,
        scanned_at: stats.scannedMs === 0 ? null : stats.scannedMs,
        watching: stats.isWatching,
        kept: stats.isKept,
      },
      meta: {},
    };
  },
  render: ({ data }) =>
    [
      `${data.state === "ready" ? "ready" : `building, ${data.done} of ${data.total} files`}: ${data.files} files, ${data.chunks} chunks, ${data.bytes} bytes`,
      data.languages.map(({ language, files }) => `${language} ${files}`).join(", "),
      ...(data.fallbacks.total === 0 ? [] : [`${data.fallbacks.total} files without syntax`]),
      ...(data.skipped.binary + data.skipped.large === 0
        ? []
        : [`left out: ${data.skipped.binary} binary, ${data.skipped.large} too large`]),
      ...renderUnread(data.unread),
      `embedder ${data.embedder}; ${data.watching ? "watching" : "not watching"}${data.kept ? "" : "; in memory only"}`,
    ]
      .filter((line) => line !== "")
      .join("\n"),
});
