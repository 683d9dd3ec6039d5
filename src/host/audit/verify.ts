import { type QuietStore, readWhileQuiet } from "./audit-lock.ts";
import type { AuditProblem } from "./check-chain.ts";
import { otherFiles } from "./record-files.ts";
import { type AuditPaths, openAuditStore, RECORDS } from "./store.ts";
import { surveyAudit } from "./survey.ts";

export interface AuditReport {
  readonly ok: boolean;
  readonly chains: number;
  readonly files: number;
  readonly records: number;
  /**
   * What follows the last record of a killed process and looks like the beginning of the next one: it was being written then,
   * or somebody added it.
   */
  readonly unproven: readonly { readonly file: string; readonly bytes: number }[];
  /** Files of other keys, which cannot be judged with this one. */
  readonly others: number;
  /** By file, the first problem of each chain. */
  readonly problems: readonly AuditProblem[];
}

const verifyStore = (store: QuietStore): AuditReport => {
  const { chains, problems } = surveyAudit(store);
  return {
    ok: problems.length === 0,
    chains: chains.length,
    files: new Set(chains.flatMap(({ files }) => files)).size,
    records: chains.reduce((sum, { records }) => sum + records, 0),
    unproven: chains
      .filter(({ problem, tornBytes }) => problem === undefined && tornBytes > 0)
      .map(({ files, tornBytes }) => ({ file: `${RECORDS}/${files.at(-1)}`, bytes: tornBytes })),
    others: otherFiles(store),
    problems: problems.map((one) => ({
      ...one,
      file: one.file.endsWith(".head") ? one.file : `${RECORDS}/${one.file}`,
    })),
  };
};

/** Reads the audit trail of a workspace from beginning to end, and says where it is not as it was written. */
export const verifyAudit = async (paths: AuditPaths): Promise<AuditReport> => {
  const store = openAuditStore(paths);
  try {
    return await readWhileQuiet(store, (quiet) => verifyStore(quiet));
  } finally {
    store.close();
  }
};
