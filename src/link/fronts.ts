import { type Child, type ChildExit, restartDelayMs } from "./child.ts";
import { type ClientLine, type ClientLines, strike } from "./client-lines.ts";
import { createFront, type Front, sendTo } from "./front-process.ts";
import { encodeRecord, type RelayRecord } from "./relay-records.ts";

interface FrontParts {
  readonly lines: ClientLines;
  /** Starts the program; `front` counts them. */
  readonly start: (front: number) => Promise<Child>;
  /** What a front learns when it starts, in JSON. */
  readonly hello: (front: number) => string;
  /** What it may answer without the core, if that is known, in JSON. */
  readonly snapshot: () => Buffer | undefined;
  readonly core: () => { readonly isReady: boolean; readonly generation: number };
  /** Writes lines to the client. */
  readonly onMessage: (lines: readonly Buffer[]) => void;
  /** A line of the client needs nothing more. */
  readonly onSettled: (line: ClientLine) => void;
  readonly onSeen: (text: string) => void;
  readonly onFailedStart: (thrown: unknown) => void;
  readonly onStarted: (pid: number | undefined) => void;
  readonly onEnded: (exit: ChildExit, isPlanned: boolean) => void;
}

/** A front that was well and ended is started again soon; one that never was, ever more slowly. */
const MAX_DELAY_MS = 250;
const MAX_UNHEALTHY_DELAY_MS = 5000;
const STABLE_MS = 1000;
/** Lines that a front has at once: more than the core works on by default, few enough for a small heap. */
const MAX_GIVEN = 256;
const TRICKLE_MS = 5;
/** How long a new front may take until it is well, and an old one until it has answered what it has. */
const MAX_START_MS = 10_000;
const MAX_DRAIN_MS = 30_000;
const DRAIN_CHECK_MS = 50;

/** The front's process: started again whenever it ends, and replaced by another without a gap when it has grown. */
export class Fronts {
  readonly #parts: FrontParts;
  #count = 0;
  #active: Front | undefined;
  #candidate: Front | undefined;
  #isReplacing = false;
  readonly #draining = new Set<Front>();
  #failures = 0;
  #isStopping = false;
  /** Lines that no front has had yet, in order. */
  readonly #undelivered: ClientLine[] = [];
  #trickle: NodeJS.Timeout | undefined;

  constructor(parts: FrontParts) {
    this.#parts = parts;
  }

  /** The process that reads the client's lines now. */
  get pid(): number | undefined {
    return this.#active?.child.pid;
  }

  get isHealthy(): boolean {
    return this.#active?.isHealthy === true;
  }

  get pids(): readonly number[] {
    return this.#all().flatMap(({ child }) => child.pid ?? []);
  }

  #all(): readonly Front[] {
    return [this.#active, this.#candidate, ...this.#draining].filter((front) => front !== undefined);
  }

  async start(): Promise<void> {
    const front = await this.#launch();
    if (front === undefined) return;
    this.#active = front;
    this.#replay(front, ({ fronts }) => fronts > 0);
    this.deliver();
    sendTo(front, encodeRecord("P"));
  }

  /** Undefined if it could not be started, or everything is stopped by now. */
  async #launch(): Promise<Front | undefined> {
    this.#count++;
    const id = this.#count;
    const { start, hello, snapshot, core } = this.#parts;
    let child: Child;
    try {
      child = await start(id);
    } catch (thrown) {
      this.#parts.onFailedStart(thrown);
      if (this.#active === undefined) this.#startAgain(MAX_UNHEALTHY_DELAY_MS);
      return undefined;
    }
    if (this.#isStopping) {
      child.kill();
      return undefined;
    }
    const front = createFront(id, child, (from, record) => this.#take(from, record));
    void child.exited.then((exit) => this.#ended(front, exit));
    this.#parts.onStarted(child.pid);
    sendTo(front, encodeRecord("I", [], hello(id)));
    const known = snapshot();
    if (known !== undefined) sendTo(front, encodeRecord("C", [], known));
    if (core().isReady) sendTo(front, encodeRecord("U", [core().generation]));
    return front;
  }

  #replay(front: Front, isWanted: (line: ClientLine) => boolean): void {
    for (const each of this.#parts.lines.replay()) {
      if (!("answered" in each)) {
        if (isWanted(each)) this.#deliver(front, each);
      } else if (!front.negotiated.has(each.n)) {
        front.negotiated.add(each.n);
        sendTo(front, encodeRecord("R", [each.n], each.answered));
      }
    }
  }

  #deliver(front: Front, line: ClientLine): void {
    front.negotiated.add(line.n);
    line.generation ??= this.#parts.core().generation;
    line.owner = front.id;
    line.isParsed = false;
    const fields = [line.n, line.generation, line.fronts];
    line.fronts++;
    if (line.refusal === undefined) {
      sendTo(front, encodeRecord("L", fields, line.body));
      return;
    }
    const { size, limit, head, tail } = line.refusal;
    sendTo(
      front,
      encodeRecord("X", [...fields, size, limit, head.toString("base64"), tail.toString("base64")]),
    );
  }

  /**
   * Hands lines of the client to the front: as many as it can work on at once, and then, so that a line which ends others is
   * never stuck behind them, one in a while.
   */
  deliver(): void {
    const front = this.#active;
    if (front === undefined || this.#undelivered.length === 0) return;
    while (this.#parts.lines.count() - this.#undelivered.length < MAX_GIVEN) {
      const line = this.#undelivered.shift();
      if (line === undefined) return;
      this.#deliver(front, line);
    }
    this.#trickle ??= setTimeout(() => {
      this.#trickle = undefined;
      const line = this.#undelivered.shift();
      if (line !== undefined && this.#active !== undefined) this.#deliver(this.#active, line);
      this.deliver();
    }, TRICKLE_MS);
  }

  /** A new line of the client. */
  add(line: ClientLine): void {
    this.#undelivered.push(line);
    this.deliver();
  }

  /** Tells every front about the core. */
  notify(kind: string, fields: readonly number[] = []): void {
    for (const front of this.#all()) sendTo(front, encodeRecord(kind, fields));
  }

  pause(): void {
    this.#active?.child.output.pause();
  }

  resume(): void {
    this.#active?.child.output.resume();
  }

  #take(front: Front, record: RelayRecord | undefined): void {
    if (record === undefined) {
      front.child.kill();
      return;
    }
    const { kind, fields, payload } = record;
    if (kind === "M") this.#parts.onMessage([payload]);
    else if (kind === "H") this.#healthy(front);
    else if (kind === "Q") front.questions = Number(fields[0]);
    else if (kind === "V") this.#parts.onSeen(fields[0] ?? "");
    else if (kind === "Z") this.#parts.lines.release(Number(fields[0]));
    else {
      const line = this.#parts.lines.find(Number(fields[0]));
      // Another front has it by now, or the client has its answer.
      if (line !== undefined && line.owner === front.id) this.#takeFor(line, kind, payload);
    }
  }

  #takeFor(line: ClientLine, kind: string, payload: Buffer): void {
    const { lines, onMessage, onSettled } = this.#parts;
    if (kind === "T") line.isParsed = true;
    else if (kind === "K") lines.keep(line);
    else if (kind === "W") line.isLasting = true;
    // A copy: it would hold on to the whole chunk that it came in.
    else if (kind === "G") line.held.push(Buffer.from(payload));
    else if (kind === "A" || kind === "D") {
      onMessage(kind === "A" ? [...line.held, payload] : line.held);
      lines.settle(line);
      this.deliver();
      onSettled(line);
    }
  }

  #healthy(front: Front): void {
    front.isHealthy = true;
    if (front !== this.#candidate) return;
    this.#candidate = undefined;
    this.#isReplacing = false;
    this.#switchTo(front);
  }

  #ended(front: Front, exit: ChildExit): void {
    this.#draining.delete(front);
    if (front === this.#candidate) {
      this.#candidate = undefined;
      this.#isReplacing = false;
    }
    if (this.#isStopping) return;
    this.#parts.onEnded(exit, front.isRetired);
    const orphans = this.#parts.lines.open().filter(({ owner }) => owner === front.id);
    for (const line of orphans) line.held = [];
    if (front !== this.#active) {
      if (this.#active !== undefined) for (const line of orphans) this.#deliver(this.#active, line);
      return;
    }
    this.#active = undefined;
    if (front.isHealthy) strike(orphans);
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
  async replace(): Promise<void> {
    const active = this.#active;
    // A question that the client is about to answer would have to be asked again.
    if (active === undefined || this.#isReplacing || active.questions > 0) return;
    this.#isReplacing = true;
    const candidate = await this.#launch();
    this.#candidate = candidate;
    if (candidate === undefined) {
      this.#isReplacing = false;
      return;
    }
    this.#replay(candidate, () => false);
    sendTo(candidate, encodeRecord("P"));
    const timer = setTimeout(() => {
      if (this.#candidate === candidate) candidate.child.kill();
    }, MAX_START_MS);
    timer.unref();
  }

  #switchTo(front: Front): void {
    const old = this.#active;
    this.#active = front;
    if (old === undefined) return;
    old.isRetired = true;
    this.#draining.add(old);
    this.#replay(front, ({ isLasting }) => isLasting);
    const since = performance.now();
    const check = setInterval(() => {
      // What the old front still agreed on with the client.
      this.#replay(front, () => false);
      const isDrained = !this.#parts.lines.open().some(({ owner }) => owner === old.id);
      if (!isDrained && performance.now() - since < MAX_DRAIN_MS) return;
      clearInterval(check);
      this.#retire(old);
    }, DRAIN_CHECK_MS);
    check.unref();
  }

  #retire({ child }: Front): void {
    child.input.end(Buffer.concat([...encodeRecord("E")]));
    const timer = setTimeout(() => child.kill(), STABLE_MS);
    timer.unref();
    void child.exited.then(() => clearTimeout(timer));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const all = this.#all();
    for (const front of all) this.#retire(front);
    await Promise.all(all.map(({ child }) => child.exited));
  }
}
