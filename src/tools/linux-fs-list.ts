import { z } from "zod";
import { defineTool } from "./tool.ts";
import { renderUnread, toUnread, unreadShape } from "./unread.ts";

const MAX_ENTRIES = 500;
/** Entries behind the handle; a tree beyond this is only counted. */
const MAX_KEPT = 100_000;

const isoTime = (seconds: number): string => new Date(seconds * 1000).toISOString();

const shownName = (path: string, type: string): string =>
  `${/[\n\r]/.test(path) ? JSON.stringify(path) : path}${type === "dir" ? "/" : ""}`;

/** Each name once, one blank further in than its folder. */
const renderTree = (entries: readonly { readonly path: string; readonly type: string }[]): string[] => {
  const lines: string[] = [];
  let open: readonly string[] = [];
  for (const { path, type } of entries) {
    const names = path.split("/");
    const folders = names.slice(0, -1);
    const shared = folders.findIndex((name, at) => name !== open[at]);
    // Folders that a filter left out.
    for (let at = shared < 0 ? folders.length : shared; at < folders.length; at++)
      lines.push(`${" ".repeat(at)}${shownName(folders[at] ?? "", "dir")}`);
    lines.push(`${" ".repeat(folders.length)}${shownName(names.at(-1) ?? "", type)}`);
    open = type === "dir" ? names : folders;
  }
  return lines;
};

export const linuxFsList = defineTool({
  name: "linux_fs_list",
  description: "List a directory tree.",
  effect: "read",
  pathArgument: "path",
  input: z.strictObject({
    path: z.string().min(1),
    depth: z.int().min(0).max(10).default(2),
    include_hidden: z.boolean().default(false),
    file_glob: z.string().min(1).nullish(),
  }),
  output: z.object({
    entries: z.array(
      z.object({
        path: z.string(),
        type: z.string(),
        size_bytes: z.int().optional(),
        mtime_iso: z.string().optional(),
      }),
    ),
    truncated: z.boolean(),
    handle: z.string().nullable(),
    total: z.int(),
    root: z.string(),
    unread: unreadShape,
  }),
  run: async ({ path, depth, include_hidden, file_glob }, { files, handles }, { signal, caller }) => {
    const walk = await files.walk(
      path,
      { depth, includeHidden: include_hidden, fileGlob: file_glob ?? undefined, maxEntries: MAX_KEPT },
      signal,
    );
    const page = walk.entries.slice(0, MAX_ENTRIES);
    const truncated = walk.total > page.length;
    return {
      entries: page.map(({ path: entryPath, type, details }) => ({
        path: entryPath,
        type,
        ...(details === undefined ? {} : { size_bytes: details.size, mtime_iso: isoTime(details.mtime) }),
      })),
      truncated,
      handle: truncated
        ? await handles.put(
            caller,
            "fs_list",
            walk.root,
            walk.entries.map((entry) => shownName(entry.path, entry.type)),
          )
        : null,
      total: walk.total,
      root: walk.root,
      ...toUnread(walk.unread),
    };
  },
  render: ({ entries, truncated, total, handle, unread }) => {
    if (total === 0) return ["[empty]", ...renderUnread(unread)].join("\n");
    const rest = handle === null ? "" : `; all: handle:${handle}`;
    return [
      ...renderTree(entries),
      ...(truncated ? [`[${entries.length} of ${total} entries${rest}]`] : []),
      ...renderUnread(unread),
    ].join("\n");
  },
});
