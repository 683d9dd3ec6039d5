import { type BoundedQueue, createBoundedQueue } from "../base/bounded-queue.ts";
import { LlmcError } from "../base/error.ts";
import type { Guest, OnWait, Runner } from "./contract.ts";
import { evictionCandidate } from "./eviction-candidate.ts";
import { createProgramSlot } from "./slots.ts";

export interface PoolSettings {
  /** Programs of one principal that run at once. */
  readonly maxPrograms: number;
  /** Interpreters that are kept with their variables, of all principals. */
  readonly maxSessions: number;
  readonly sessionMs: number;
}

interface PoolParts {
  readonly settings: () => PoolSettings;
  /** Of `createProgramQueue`. */
  readonly queue: BoundedQueue;
  /** How long a spare interpreter waits for a program. */
  readonly spareMs?: number;
}

/** A guest that somebody works with. */
export interface Lease {
  readonly guest: Guest;
  /** Whether a session of this name was kept; false where its variables are new. */
  readonly wasKept: boolean;
  /** Gives the slot to others while the program's user is asked something. */
  suspend(): void;
  /** Waits for a slot again. */
  resume(signal: AbortSignal): Promise<void>;
  /** Hands the guest back: kept where it belongs to a session and still lives, otherwise ended. */
  release(): void;
}

export interface LeaseRequest {
  readonly runner: Runner;
  readonly owner: string;
  readonly principal: string;
  readonly session: string | undefined;
  readonly signal: AbortSignal;
  readonly onWait: OnWait;
}

const MAX_WAITING = 1000;
/** A spare costs some 50 to 200 MB, and saves a start of some tenths of a second. */
const SPARE_MS = 120_000;
/** Starting one takes some milliseconds of this thread: the answer of the program before it goes first. */
const PREPARE_MS = 20;

interface Session extends Pick<LeaseRequest, "owner" | "principal"> {
  readonly guest: Guest;
  isBusy: boolean;
  timer: NodeJS.Timeout | undefined;
}

interface Spare {
  readonly guest: Promise<Guest | undefined>;
  isLoaded: boolean;
  readonly timer: NodeJS.Timeout;
}

const tooMany = (running: number, waiting: number): LlmcError =>
  new LlmcError("busy", `${running} programs are running and ${waiting} are waiting.`, {
    hint: "Wait for some of them to end, then try again.",
  });

const sessionIsBusy = (): LlmcError =>
  new LlmcError("busy", "A program of this session is running.", {
    hint: "Wait until it ends, or leave session out.",
  });

const end = (guest: Guest | undefined): Promise<void> => guest?.kill().catch(() => {}) ?? Promise.resolve();

/** One interpreter of each kind that waits for a program: started when one was used, ended when it is idle. */
const createSpares = (spareMs: number) => {
  const spares = new Map<Runner, Spare>();
  const drop = (runner: Runner): void => {
    const spare = spares.get(runner);
    clearTimeout(spare?.timer);
    spares.delete(runner);
    void spare?.guest.then(end);
  };
  return {
    take: async (runner: Runner, onWait: OnWait): Promise<Guest | undefined> => {
      const spare = spares.get(runner);
      if (spare?.isLoaded !== true) onWait(`starting the interpreter of ${runner.name}`);
      if (spare === undefined) return undefined;
      clearTimeout(spare.timer);
      spares.delete(runner);
      const guest = await spare.guest;
      return guest?.isAlive() === true ? guest : undefined;
    },
    prepare: (runner: Runner): void => {
      if (spares.has(runner)) return;
      const timer = setTimeout(() => drop(runner), spareMs).unref();
      // Whoever needs one gets the failure from a start of their own.
      const spare: Spare = { guest: runner.start().catch(() => undefined), timer, isLoaded: false };
      spares.set(runner, spare);
      void spare.guest.then((guest) => {
        spare.isLoaded = guest !== undefined;
      });
    },
    close: async (): Promise<void> => {
      const guests = [...spares.values()].map(({ guest }) => guest);
      for (const runner of [...spares.keys()]) drop(runner);
      await Promise.all(guests.map(async (guest) => end(await guest)));
    },
  };
};

/** Interpreters that keep their variables between programs, by owner and name. */
const createSessions = (settings: () => PoolSettings) => {
  const sessions = new Map<string, Session>();
  const forget = (key: string): void => {
    const session = sessions.get(key);
    clearTimeout(session?.timer);
    sessions.delete(key);
    void end(session?.guest);
  };
  const makeRoom = (): void => {
    while (sessions.size > settings().maxSessions) {
      const key = evictionCandidate(sessions, ({ isBusy }) => !isBusy);
      if (key === undefined) return;
      forget(key);
    }
  };
  return {
    /** The guest of a session, which is busy from now on; undefined where there is none. */
    take: (key: string): Guest | undefined => {
      const session = sessions.get(key);
      if (session?.isBusy === true) throw sessionIsBusy();
      if (session === undefined) return undefined;
      clearTimeout(session.timer);
      if (!session.guest.isAlive()) {
        forget(key);
        return undefined;
      }
      session.isBusy = true;
      return session.guest;
    },
    /** Two programs of one session may have been started at the same time: the second is refused. */
    add: (key: string, { owner, principal }: LeaseRequest, guest: Guest): void => {
      if (sessions.has(key)) {
        void end(guest);
        throw sessionIsBusy();
      }
      sessions.set(key, { owner, principal, guest, isBusy: true, timer: undefined });
    },
    release: (key: string): void => {
      const session = sessions.get(key);
      if (session === undefined) return;
      if (!session.guest.isAlive()) {
        forget(key);
        return;
      }
      session.isBusy = false;
      session.timer = setTimeout(() => forget(key), settings().sessionMs).unref();
      // The one that was used last is the last to go.
      sessions.delete(key);
      sessions.set(key, session);
      makeRoom();
    },
    /** Of one owner; left out, of all. */
    close: async (owner?: string): Promise<void> => {
      const chosen = [...sessions].filter(([, session]) => owner === undefined || session.owner === owner);
      for (const [key] of chosen) forget(key);
      await Promise.all(chosen.map(([, { guest }]) => end(guest)));
    },
  };
};

/** The slots of programs, or of analyses. */
export const createProgramQueue = (settings: () => Pick<PoolSettings, "maxPrograms">): BoundedQueue =>
  createBoundedQueue(() => {
    const { maxPrograms } = settings();
    // One more than a single principal can hold, so that one is always left to the others.
    return { maxRunning: maxPrograms + 1, maxRunningEach: maxPrograms, maxWaiting: MAX_WAITING };
  }, tooMany);

/** Bounds how many guests there are, and has one ready where that is possible. */
export const createPool = ({ settings, queue, spareMs = SPARE_MS }: PoolParts) => {
  const spares = createSpares(spareMs);
  const sessions = createSessions(settings);
  const running = new Set<Guest>();
  let isClosed = false;

  const open = async (request: LeaseRequest) => {
    const { runner, session, owner, onWait } = request;
    const key = session === undefined ? undefined : JSON.stringify([owner, runner.name, session]);
    const kept = key === undefined ? undefined : sessions.take(key);
    if (kept !== undefined) return { guest: kept, key, wasKept: true };
    const guest = (await spares.take(runner, onWait)) ?? (await runner.start(onWait));
    if (key !== undefined) sessions.add(key, request, guest);
    return { guest, key, wasKept: false };
  };

  return {
    lease: async (request: LeaseRequest): Promise<Lease> => {
      const { runner, principal, signal, onWait } = request;
      const slot = createProgramSlot(queue, principal);
      await slot.take(signal, () => onWait("waiting until other programs have ended (max_programs)"));
      try {
        signal.throwIfAborted();
        if (isClosed) throw new LlmcError("unavailable", "The server is ending.");
        const { guest, key, wasKept } = await open(request);
        running.add(guest);
        return {
          guest,
          wasKept,
          suspend: slot.give,
          resume: slot.take,
          release: () => {
            if (!running.delete(guest)) return;
            slot.close();
            // The next program starts when this one's memory is free again.
            const freed = key === undefined ? end(guest) : sessions.release(key);
            void Promise.resolve(freed).finally(slot.give);
            setTimeout(() => {
              if (!isClosed) spares.prepare(runner);
            }, PREPARE_MS).unref();
          },
        };
      } catch (thrown) {
        slot.give();
        throw thrown;
      }
    },
    /** Ends the sessions of an owner, with what runs in them. */
    endSessions: sessions.close,
    close: async (): Promise<void> => {
      isClosed = true;
      await Promise.all([spares.close(), sessions.close(), ...[...running].map(end)]);
    },
  };
};
