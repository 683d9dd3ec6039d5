import { restartDelayMs } from "./child.ts";
import type { Front } from "./front-process.ts";

interface ReplacementParts {
  /** The front that reads the client's lines now. */
  readonly active: () => Front | undefined;
  readonly isStarting: () => boolean;
  readonly isStopping: () => boolean;
  /** Starts another front; it is adopted before its end can be noticed. False if it could not be started. */
  readonly launch: (adopt: (candidate: Front) => void) => Promise<boolean>;
  /** Has a candidate read what it needs to know and say that it is well. */
  readonly prepare: (candidate: Front) => void;
  /** The candidate is well and takes over. */
  readonly switchTo: (candidate: Front) => void;
  /** No front of what is installed now can speak to the core, so that the core has to be started again, too. */
  readonly onMisfit: () => void;
  /** How long questions that the client has not answered are waited for: their number is the front's own word. */
  readonly maxQuestionMs: number;
}

/** How long a new front may take until it is well. */
const MAX_START_MS = 10_000;
const MAX_RETRY_MS = 5000;

/** Puts another front in the place of the one that is active, without a gap; if no other is ever well, nothing changes. */
export class FrontReplacement {
  readonly #parts: ReplacementParts;
  #candidate: Front | undefined;
  #isUnderWay = false;
  /** A replacement was put off. */
  #isWanted = false;
  /** The front whose questions are waited for, and whether that has taken too long. */
  #asking: { readonly front: Front; isOverdue: boolean } | undefined;
  #failures = 0;

  constructor(parts: ReplacementParts) {
    this.#parts = parts;
  }

  get candidate(): Front | undefined {
    return this.#candidate;
  }

  /** Starts another front, at once or as soon as possible. */
  async begin(): Promise<void> {
    const active = this.#parts.active();
    if (active === undefined) {
      // One that is started later is as good as a replacement.
      this.#isWanted = this.#parts.isStarting();
      return;
    }
    this.#isWanted = this.#isUnderWay || this.#isAsking(active);
    if (this.#isWanted) return;
    this.#isUnderWay = true;
    const isStarted = await this.#parts.launch((candidate) => {
      this.#candidate = candidate;
      this.#parts.prepare(candidate);
      setTimeout(() => {
        if (this.#candidate === candidate) candidate.child.kill();
      }, MAX_START_MS).unref();
    });
    if (!isStarted) this.#failed(false);
  }

  /** Makes a replacement that was put off, if nothing is in its way any more. */
  resume(): void {
    if (this.#isWanted && !this.#parts.isStopping()) void this.begin();
  }

  /** A new front takes over once it has read everything and can speak to the core. */
  complete(front: Front): void {
    if (front !== this.#candidate || !front.isHealthy || front.fits !== true) return;
    this.#candidate = undefined;
    this.#failures = 0;
    this.#parts.switchTo(front);
    this.#end();
  }

  /** A front has ended. */
  ended(front: Front): void {
    if (front !== this.#candidate) return;
    this.#candidate = undefined;
    this.#failed(front.fits === false);
  }

  /** A question that the client is about to answer would have to be asked again. */
  #isAsking(front: Front): boolean {
    const { maxQuestionMs } = this.#parts;
    if (!(front.questions > 0) || front.fits === false || maxQuestionMs === 0) {
      this.#asking = undefined;
      return false;
    }
    if (this.#asking?.front !== front) {
      const asking = { front, isOverdue: false };
      this.#asking = asking;
      setTimeout(() => {
        asking.isOverdue = true;
        this.resume();
      }, maxQuestionMs).unref();
    }
    return !this.#asking.isOverdue;
  }

  /** A front that cannot speak to the core is of no use: another one is tried until one can, or the core is another. */
  #failed(isMisfit: boolean): void {
    const { active, isStopping, onMisfit } = this.#parts;
    this.#end();
    if (isStopping() || active()?.fits !== false) return;
    if (isMisfit) {
      onMisfit();
      return;
    }
    this.#failures++;
    setTimeout(
      () => {
        if (active()?.fits === false && !this.#isUnderWay && !isStopping()) void this.begin();
      },
      restartDelayMs(this.#failures, MAX_RETRY_MS),
    );
  }

  #end(): void {
    this.#isUnderWay = false;
    this.resume();
  }
}
