/** What can be in a chain: it is its own link, so that joining and leaving allocate nothing. Only the chain looks at these. */
export class ChainLink {
  before: ChainLink | undefined;
  after: ChainLink | undefined;
}

/**
 * Members in the order in which they joined, each in this chain only. For what comes and goes with every call: a Set that
 * is empty again and again makes a table anew each time, and in the part of the heap that is seldom cleaned.
 */
export class Chain<T extends ChainLink> {
  /** Before the first and after the last: every member has two neighbours. */
  readonly #end = new ChainLink();
  #size = 0;

  constructor() {
    this.#end.before = this.#end;
    this.#end.after = this.#end;
  }

  get size(): number {
    return this.#size;
  }

  add(member: T): void {
    if (member.after !== undefined) return;
    const last = this.#end.before ?? this.#end;
    member.before = last;
    member.after = this.#end;
    last.after = member;
    this.#end.before = member;
    this.#size++;
  }

  /** Whether it was a member. */
  remove(member: T): boolean {
    const { before, after } = member;
    if (before === undefined || after === undefined) return false;
    before.after = after;
    after.before = before;
    member.before = undefined;
    member.after = undefined;
    this.#size--;
    return true;
  }

  /** Those of this moment: whoever goes through them may add and remove. */
  members(): readonly T[] {
    const members: T[] = [];
    for (let link = this.#end.after; link !== undefined && link !== this.#end; link = link.after) {
      members.push(link as T);
    }
    return members;
  }
}
