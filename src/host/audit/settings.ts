export interface AuditSettings {
  readonly enabled: boolean;
  readonly maxFileBytes: number;
  /** 0: unlimited. */
  readonly maxTotalBytes: number;
  /** 0: forever. */
  readonly retentionDays: number;
  /** Answer calls that only read when they cannot be recorded. */
  readonly unauditedReads: boolean;
  /** Write every record before its answer leaves, and wait for the disk. */
  readonly sync: boolean;
}

/** The options under `mcp.audit`. */
interface AuditOptions {
  readonly enabled: boolean;
  readonly unaudited_reads: boolean;
  readonly sync: boolean;
  readonly max_file_mb: number;
  readonly max_total_mb: number;
  readonly retention_days: number;
}

const MIB = 1024 * 1024;

export const auditSettings = (options: AuditOptions): AuditSettings => ({
  enabled: options.enabled,
  maxFileBytes: options.max_file_mb * MIB,
  maxTotalBytes: options.max_total_mb * MIB,
  retentionDays: options.retention_days,
  unauditedReads: options.unaudited_reads,
  sync: options.sync,
});
