import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { SessionEvents } from "./event-store.ts";

export interface Session {
  /** The principal that opened it; others cannot use it. */
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** What a client that lost its stream can still get. */
  readonly events: SessionEvents;
  lastUsedMs: number;
  /** Running requests and open streams; the session is idle if there are none. */
  active: number;
}

/** Sessions that are idle for longer are ended: clients may leave without closing them. */
const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 1000;
/** At this limit a principal loses its own longest-idle session, never that of another. */
const MAX_SESSIONS_EACH = 64;

/** The open sessions, limited in total and per principal. */
export const createSessionTable = (now: () => number) => {
  const sessions = new Map<string, Session>();
  /** Sessions that are being opened, by principal. */
  const opening = new Map<string, number>();

  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    void session?.transport.close();
  };

  const dropIdle = (): void => {
    const oldest = now() - IDLE_MS;
    for (const [id, session] of sessions) if (session.active === 0 && session.lastUsedMs < oldest) drop(id);
  };

  const sessionsOf = (owner: string) => [...sessions].filter(([, session]) => session.owner === owner);

  /** Drops the session of this principal that has been idle longest; false if it has no idle one. */
  const dropLongestIdle = (owner: string): boolean => {
    const [longest] = sessionsOf(owner)
      .filter(([, { active }]) => active === 0)
      .sort(([, one], [, other]) => one.lastUsedMs - other.lastUsedMs);
    if (longest === undefined) return false;
    drop(longest[0]);
    return true;
  };

  return {
    add: (id: string, session: Session): void => void sessions.set(id, session),
    /** Its transport has closed it. */
    remove: (id: string): void => void sessions.delete(id),
    find: (id: string, owner: string): Session | undefined => {
      const session = sessions.get(id);
      return session?.owner === owner ? session : undefined;
    },
    /** Whether this principal may open one more. Sessions that are being opened count as well. */
    makeRoom: (owner: string): boolean => {
      dropIdle();
      const own = sessionsOf(owner).length + (opening.get(owner) ?? 0);
      const isFull = own >= MAX_SESSIONS_EACH || sessions.size >= MAX_SESSIONS;
      return !isFull || dropLongestIdle(owner);
    },
    countOpening: (owner: string, by: 1 | -1): void => {
      const count = (opening.get(owner) ?? 0) + by;
      if (count === 0) opening.delete(owner);
      else opening.set(owner, count);
    },
    /** Ends every session of a principal, with everything that runs in them. */
    dropAllOf: (owner: string): void => {
      for (const [id] of sessionsOf(owner)) drop(id);
    },
    dropAll: (): void => {
      for (const id of [...sessions.keys()]) drop(id);
    },
  };
};
