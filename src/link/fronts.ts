import { type ChildExit, restartDelayMs } from "./child.ts";
import { type ClientLine, strike } from "./client-lines.ts";
import {
  createFront,
  deliverTo,
  drain,
  type Front,
  type FrontChild,
  type FrontParts,
  introduceTo,
  replayTo,
  retire,
  sendTo,
  takeFor,
} from "./front-process.ts";
import { createLineFeed } from "./line-feed.ts";
import { encodeRecord, type RelayRecord } from "./relay-records.ts";

/** A front that was well and ended is started again soon; one that never was, ever more slowly. */
const MAX_DELAY_MS = 250;
const MAX_UNHEALTHY_DELAY_MS = 5000;
const STABLE_MS = 1000;
/** How long a new front may take until it is well. */
const MAX_START_MS = 10_000;
/** A generation and a number. */
const MAX_SEEN_CHARS = 40;

/** The front's process: started again whenever it ends, and replaced by another without a gap when it has grown. */
export class Fronts {
  readonly #parts: FrontParts;
  #count = 0;
  #active: Front | undefined;
  #candidate: Front | undefined;
  #isStarting = false;
  #isReplacing = false;
  /** Another replacement, which has to wait. */
  #isWanted = false;
  readonly #draining = new Set<Front>();
  #failures = 0;
  #replacementFailures = 0;
  #isStopping = false;
  readonly #feed: ReturnType<typeof createLineFeed>;

  constructor(parts: FrontParts) {
    this.#parts = parts;
    this.#feed = createLineFeed(
      parts.lines,
      () => this.#active !== undefined,
      (line) => {
        if (this.#active !== undefined) this.#deliver(this.#active, line);
      },
    );
  }

  /** The process that reads the client's lines now. */
  get pid(): number | undefined {
    return this.#active?.child.pid;
  }

  get isHealthy(): boolean {
    return this.#active?.isHealthy === true;
  }

  get children(): readonly FrontChild[] {
    return this.#all().map(({ child }) => child);
  }

  #all(): readonly Front[] {
    return [this.#active, this.#candidate, ...this.#draining].filter((front) => front !== undefined);
  }

  async start(): Promise<void> {
    this.#isStarting = true;
    const isStarted = await this.#launch((front) => {
      // A candidate has taken over in the meantime.
      if (this.#active !== undefined) front.child.kill();
      else this.#activate(front);
    });
    this.#isStarting = false;
    if (!isStarted && this.#active === undefined) this.#startAgain(MAX_UNHEALTHY_DELAY_MS);
    this.#replaceAgain();
  }

  /** What fronts before it have read and not answered is read again. */
  #activate(front: Front): void {
    this.#active = front;
    this.#replay(front, ({ fronts }) => fronts > 0);
    this.#feed.flow();
    sendTo(front, encodeRecord("P"));
  }

  /**
   * False if it could not be started, or everything is stopped by now. The front is adopted before its end can be noticed:
   * it may be over already.
   */
  async #launch(adopt: (front: Front) => void): Promise<boolean> {
    this.#count++;
    const id = this.#count;
    let child: FrontChild;
    try {
      child = await this.#parts.start(id);
    } catch (thrown) {
      this.#parts.onFailedStart(thrown);
      return false;
    }
    if (this.#isStopping) {
      child.kill();
      return false;
    }
    const front = createFront(id, child, (from, record) => this.#take(from, record));
    this.#parts.onStarted(child);
    introduceTo(front, this.#parts);
    adopt(front);
    void child.exited.then((exit) => this.#ended(front, exit));
    return true;
  }

  #replay(front: Front, isWanted: (line: ClientLine) => boolean): void {
    replayTo(front, this.#parts, isWanted);
  }

  #deliver(front: Front, line: ClientLine): void {
    deliverTo(front, line, this.#parts.core().generation);
  }

  /** A new line of the client. */
  add(line: ClientLine): void {
    this.#feed.add(line);
  }

  /** Tells every front about the core, or what it has to know. */
  notify(kind: string, fields: readonly number[] = [], payload?: string): void {
    for (const front of this.#all()) sendTo(front, encodeRecord(kind, fields, payload));
  }

  read(isWanted: boolean): void {
    for (const { child } of this.#all()) child.output[isWanted ? "resume" : "pause"]();
  }

  #take(front: Front, record: RelayRecord | undefined): void {
    if (record === undefined) {
      front.child.kill();
      return;
    }
    const { kind, fields, payload } = record;
    if (kind === "M") this.#parts.onMessage([payload]);
    else if (kind === "H" || kind === "O") this.#well(front, kind);
    else if (kind === "F") this.#misfit(front);
    else if (kind === "Q") this.#asks(front, Number(fields[0]));
    else if (kind === "S") this.#parts.onConnections?.(front.child, Number(fields[0]) || 0);
    else if (kind === "V" && front === this.#active)
      this.#parts.onSeen((fields[0] ?? "").slice(0, MAX_SEEN_CHARS));
    else if (kind === "Z") this.#parts.lines.release(Number(fields[0]));
    else {
      const line = this.#parts.lines.find(Number(fields[0]));
      // Another front has it by now, or the client has its answer.
      if (line !== undefined && line.owner === front.id) takeFor(front, line, record, this.#parts);
      this.#feed.flow();
    }
  }

  /** A new front takes over once it has read everything and can speak to the core. */
  #well(front: Front, kind: "H" | "O"): void {
    if (kind === "H") front.isHealthy = true;
    else front.fits = true;
    if (kind === "H") this.#parts.onWell?.(front.child);
    if (front !== this.#candidate || !front.isHealthy || front.fits !== true) return;
    this.#candidate = undefined;
    this.#replacementFailures = 0;
    this.#switchTo(front);
    this.#endReplacement();
  }

  /** One that is installed now may fit; if it does not, nothing is gained by it. */
  #misfit(front: Front): void {
    front.fits = false;
    if (front === this.#candidate) front.child.kill();
    else if (front === this.#active) void this.replace();
  }

  #asks(front: Front, questions: number): void {
    front.questions = questions;
    if (front === this.#active && questions === 0) this.#replaceAgain();
  }

  #ended(front: Front, exit: ChildExit): void {
    this.#draining.delete(front);
    if (this.#isStopping) return;
    this.#parts.onEnded(exit, { ...front, wasActive: front === this.#active });
    if (front === this.#candidate) {
      this.#candidate = undefined;
      this.#candidateFailed(front.fits === false);
    }
    const orphans = this.#parts.lines.open().filter(({ owner }) => owner === front.id);
    for (const line of orphans) this.#parts.lines.letGo(line);
    if (front !== this.#active) {
      if (this.#active !== undefined) for (const line of orphans) this.#deliver(this.#active, line);
      return;
    }
    this.#active = undefined;
    // A line that has killed one may kill the next before it can say that it is well.
    if (front.isHealthy || orphans.some(({ strikes }) => strikes > 0)) strike(orphans);
    const isStable = front.isHealthy && performance.now() - front.startedAt > STABLE_MS;
    if (isStable) this.#failures = 0;
    this.#startAgain(front.isHealthy ? MAX_DELAY_MS : MAX_UNHEALTHY_DELAY_MS);
  }

  /** A front that cannot speak to the core is of no use: another one is tried until one can, or the core is another. */
  #candidateFailed(isMisfit: boolean): void {
    this.#endReplacement();
    if (this.#isStopping || this.#active?.fits !== false) return;
    if (isMisfit) {
      this.#parts.onMisfit();
      return;
    }
    this.#replacementFailures++;
    setTimeout(
      () => {
        const isNeeded = this.#active?.fits === false && !this.#isReplacing;
        if (isNeeded && !this.#isStopping) void this.replace();
      },
      restartDelayMs(this.#replacementFailures, MAX_UNHEALTHY_DELAY_MS),
    );
  }

  #endReplacement(): void {
    this.#isReplacing = false;
    this.#replaceAgain();
  }

  #startAgain(maxDelayMs: number): void {
    this.#failures++;
    setTimeout(
      () => {
        if (!this.#isStopping && this.#active === undefined) void this.start();
      },
      restartDelayMs(this.#failures, maxDelayMs),
    );
  }

  #replaceAgain(): void {
    if (this.#isWanted && !this.#isStopping) void this.replace();
  }

  /** Starts another front and changes over to it once it is well; if it never is, everything stays as it was. */
  async replace(): Promise<void> {
    const active = this.#active;
    if (active === undefined) {
      // One that is started later is as good as a replacement.
      this.#isWanted = this.#isStarting;
      return;
    }
    // A question that the client is about to answer would have to be asked again.
    this.#isWanted = this.#isReplacing || (active.questions > 0 && active.fits !== false);
    if (this.#isWanted) return;
    this.#isReplacing = true;
    const isStarted = await this.#launch((candidate) => {
      this.#candidate = candidate;
      this.#replay(candidate, () => false);
      sendTo(candidate, encodeRecord("P"));
      setTimeout(() => {
        if (this.#candidate === candidate) candidate.child.kill();
      }, MAX_START_MS).unref();
    });
    if (!isStarted) this.#candidateFailed(false);
  }

  #switchTo(front: Front): void {
    const old = this.#active;
    if (old === undefined) {
      this.#activate(front);
      return;
    }
    this.#active = front;
    old.isRetired = true;
    this.#draining.add(old);
    this.#replay(front, ({ isLasting }) => isLasting);
    // What it has not answered, it cannot.
    if (old.fits === false) {
      old.child.kill();
      return;
    }
    drain(
      old,
      () => {
        // What the old front still agreed on with the client.
        this.#replay(front, () => false);
        return !this.#parts.lines.open().some(({ owner }) => owner === old.id);
      },
      this.#parts.endMs?.replaced,
    );
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const all = this.#all();
    for (const front of all) retire(front, this.#parts.endMs?.stopped);
    await Promise.all(all.map(({ child }) => child.exited));
  }
}
