/** Who holds a lock now, for people to look at. */
export interface LockInfo {
  readonly key: string;
  readonly pid: number;
  readonly fence: number;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  readonly isDead: boolean;
}

/** Locks that are held; good until they expire or are taken over. */
export interface Lease {
  /** Grows with every acquisition of any lock on this machine: a later holder always has a higher one. */
  readonly fence: number;
  /**
   * Runs the last, irrevocable step (a rename, a link) while nobody can take the locks over; throws `busy` without
   * running it when they were lost meanwhile.
   */
  commit<T>(step: () => T): T;
}

/** Advisory locks across the processes of one machine: two servers that write the same file take turns. */
export interface Locks {
  /** Takes every key, in sorted order, runs the work and lets go. Waits a bounded time, then throws `busy`. */
  hold<T>(keys: readonly string[], work: (lease: Lease) => Promise<T>, signal?: AbortSignal): Promise<T>;
  list(): readonly LockInfo[];
}
