import { getMetrics } from "./get-metrics.ts";
import { health } from "./health.ts";
import { init } from "./init.ts";
import { linuxFsDelete } from "./linux-fs-delete.ts";
import { linuxFsEdit } from "./linux-fs-edit.ts";
import { linuxFsList } from "./linux-fs-list.ts";
import { linuxFsMkdirs } from "./linux-fs-mkdirs.ts";
import { linuxFsMove } from "./linux-fs-move.ts";
import { linuxFsRead } from "./linux-fs-read.ts";
import { linuxFsWrite } from "./linux-fs-write.ts";
import { linuxHandleRead } from "./linux-handle-read.ts";
import { linuxSearchContent } from "./linux-search-content.ts";
import { linuxSearchFiles } from "./linux-search-files.ts";
import { listDir } from "./list-dir.ts";
import { readFile } from "./read-file.ts";
import { repoRead } from "./repo-read.ts";
import { repoWritePatch } from "./repo-write-patch.ts";
import { runCmd } from "./run-cmd.ts";
import { stat } from "./stat.ts";
import type { Tool } from "./tool.ts";

/** Every tool of this program, in the order in which clients see them. */
export const allTools: readonly Tool[] = [
  init,
  readFile,
  listDir,
  stat,
  linuxFsRead,
  linuxFsWrite,
  linuxFsEdit,
  linuxFsList,
  linuxFsMove,
  linuxFsDelete,
  linuxFsMkdirs,
  linuxSearchFiles,
  linuxSearchContent,
  linuxHandleRead,
  repoRead,
  repoWritePatch,
  runCmd,
  health,
  getMetrics,
];
