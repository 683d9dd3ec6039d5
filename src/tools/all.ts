import { getMetrics } from "./get-metrics.ts";
import { health } from "./health.ts";
import { init } from "./init.ts";
import { inspect } from "./inspect.ts";
import { linuxFsDelete } from "./linux-fs-delete.ts";
import { linuxFsEdit } from "./linux-fs-edit.ts";
import { linuxFsList } from "./linux-fs-list.ts";
import { linuxFsMkdirs } from "./linux-fs-mkdirs.ts";
import { linuxFsMove } from "./linux-fs-move.ts";
import { linuxFsRead } from "./linux-fs-read.ts";
import { linuxFsWrite } from "./linux-fs-write.ts";
import { linuxHandleRead } from "./linux-handle-read.ts";
import { linuxProcKill } from "./linux-proc-kill.ts";
import { linuxProcList } from "./linux-proc-list.ts";
import { linuxProcRead } from "./linux-proc-read.ts";
import { linuxProcSend } from "./linux-proc-send.ts";
import { linuxProcStart } from "./linux-proc-start.ts";
import { linuxProcStop } from "./linux-proc-stop.ts";
import { linuxSearchContent } from "./linux-search-content.ts";
import { linuxSearchFiles } from "./linux-search-files.ts";
import { linuxSysSnapshot } from "./linux-sys-snapshot.ts";
import { listDir } from "./list-dir.ts";
import { ragLineage } from "./rag-lineage.ts";
import { ragPlan } from "./rag-plan.ts";
import { ragQuery } from "./rag-query.ts";
import { ragSearch } from "./rag-search.ts";
import { ragSearchEnriched } from "./rag-search-enriched.ts";
import { ragStats } from "./rag-stats.ts";
import { ragWhereUsed } from "./rag-where-used.ts";
import { readFile } from "./read-file.ts";
import { repoRead } from "./repo-read.ts";
import { repoWritePatch } from "./repo-write-patch.ts";
import { runCmd } from "./run-cmd.ts";
import { runPytest } from "./run-pytest.ts";
import { stat } from "./stat.ts";
import { teRun } from "./te-run.ts";
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
  teRun,
  runPytest,
  linuxProcList,
  linuxProcStart,
  linuxProcRead,
  linuxProcSend,
  linuxProcStop,
  linuxProcKill,
  linuxSysSnapshot,
  ragSearch,
  ragSearchEnriched,
  ragQuery,
  ragWhereUsed,
  ragLineage,
  inspect,
  ragStats,
  ragPlan,
  health,
  getMetrics,
];
