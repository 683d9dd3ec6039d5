import type { Owners } from "../os/process-owner.ts";
import type { LockedStore } from "./audit-lock.ts";
import { type ChainState, moveChainStart } from "./chain-writer.ts";
import { mergeEnded } from "./merge.ts";
import { applyRetention, type Removal } from "./retention.ts";
import type { AuditSettings } from "./settings.ts";

const DAY_MS = 86_400_000;

interface MaintenanceParts {
  readonly store: LockedStore;
  readonly owners: Pick<Owners, "isGone">;
  /** The chain that this process writes. */
  readonly chain: ChainState;
  readonly now: Date;
  readonly settings: AuditSettings;
  readonly onRemoval: (removal: Removal) => void;
}

/** Merges what ended processes left, and applies retention. */
export const maintainChains = ({
  store,
  owners,
  chain,
  now,
  settings,
  onRemoval,
}: MaintenanceParts): void => {
  const { maxFileBytes, maxTotalBytes, retentionDays } = settings;
  mergeEnded(store, owners, { maxFileBytes, now });
  applyRetention({
    store,
    owners,
    limits: {
      before: retentionDays === 0 ? undefined : new Date(now.getTime() - retentionDays * DAY_MS),
      maxTotalBytes,
    },
    own: () => chain.head,
    onRemoval,
    moveOwnStart: (firstPart, first) => moveChainStart(chain, firstPart, first),
  });
};
