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
  isReading,
  replayTo,
  retire,
  sendTo,
  takeFor,
} from "./front-process.ts";
import { FrontReplacement } from "./front-replacement.ts";
import { createLineFeed } from "./line-feed.ts";
import { encodeRecord, type RelayRecord } from "./relay-records.ts";

/** A front that was well and ended is started again soon; one that never was, ever more slowly. */
const MAX_DELAY_MS = 250;
const MAX_UNHEALTHY_DELAY_MS = 5000;
const STABLE_MS = 1000;
/** A generation and a number. */
const MAX_SEEN_CHARS = 40;

/** The front's process: started again whenever it ends, and replaced by another without a gap when it has grown. */
export class Fronts {
  readonly #parts: FrontParts;
  #count = 0;
  #active: Front | undefined;
  #isStarting = false;
  readonly #draining = new Set<Front>();
  #failures = 0;
  #isStopping = false;
  readonly #feed: ReturnType<typeof createLineFeed>;
  readonly #replacement: FrontReplacement;

  constructor(parts: FrontParts) {
    this.#parts = parts;
    this.#feed = createLineFeed({
      lines: parts.lines,
      maxBytes: parts.maxGivenBytes ?? (() => Number.POSITIVE_INFINITY),
      hasFront: () => this.#active !== undefined && isReading(this.#active),
      deliver: (line) => {
        if (this.#active !== undefined) this.#deliver(this.#active, line);
      },
    });
    this.#replacement = new FrontReplacement({
      active: () => this.#active,
      isStarting: () => this.#isStarting,
      isStopping: () => this.#isStopping,
      launch: (adopt) => this.#launch(adopt),
      prepare: (candidate) => {
        this.#replay(candidate, () => false);
        sendTo(candidate, encodeRecord("P"));
      },
      switchTo: (candidate) => this.#switchTo(candidate),
      onMisfit: parts.onMisfit,
      maxQuestionMs: parts.maxQuestionMs ?? 0,
    });
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
    return [this.#active, this.#replacement.candidate, ...this.#draining].filter(
      (front) => front !== undefined,
    );
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
    this.#replacement.resume();
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
    child.input.on("drain", this.#feed.flow);
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
    else if (kind === "Z") this.#release(Number(fields[0]));
    else {
      const line = this.#parts.lines.find(Number(fields[0]));
      // Another front has it by now, or the client has its answer.
      if (line !== undefined && line.owner === front.id) takeFor(front, line, record, this.#parts);
      this.#feed.flow();
    }
  }

  /** The line no longer belongs to the negotiation. */
  #release(n: number): void {
    this.#parts.lines.release(n);
    for (const { negotiated } of this.#all()) negotiated.delete(n);
  }

  #well(front: Front, kind: "H" | "O"): void {
    if (kind === "H") front.isHealthy = true;
    else front.fits = true;
    if (kind === "H") this.#parts.onWell?.(front.child);
    this.#replacement.complete(front);
  }

  /** One that is installed now may fit; if it does not, nothing is gained by it. */
  #misfit(front: Front): void {
    front.fits = false;
    if (front === this.#replacement.candidate) front.child.kill();
    else if (front === this.#active) void this.replace();
  }

  #asks(front: Front, questions: number): void {
    front.questions = questions;
    if (front === this.#active && questions === 0) this.#replacement.resume();
  }

  #ended(front: Front, exit: ChildExit): void {
    this.#draining.delete(front);
    if (this.#isStopping) return;
    this.#parts.onEnded(exit, { ...front, wasActive: front === this.#active });
    this.#replacement.ended(front);
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

  #startAgain(maxDelayMs: number): void {
    this.#failures++;
    setTimeout(
      () => {
        if (!this.#isStopping && this.#active === undefined) void this.start();
      },
      restartDelayMs(this.#failures, maxDelayMs),
    );
  }

  /** Starts another front and changes over to it once it is well; if it never is, everything stays as it was. */
  replace(): Promise<void> {
    return this.#replacement.begin();
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
    drain(old, {
      // What the old front still agrees on with the client.
      onCheck: () => this.#replay(front, () => false),
      isDrained: () => !this.#parts.lines.open().some(({ owner }) => owner === old.id),
      maxEndMs: this.#parts.endMs?.replaced,
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const all = this.#all();
    for (const front of all) retire(front, this.#parts.endMs?.stopped);
    await Promise.all(all.map(({ child }) => child.exited));
  }
}
