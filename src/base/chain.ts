/**
 * A member of a chain (an intrusive linked list), so that adding and removing allocate nothing. Only the chain uses
 * these fields.
 */
export class ChainLink {
  before: ChainLink | undefined;
  after: ChainLink | undefined;
}

/**
 * Members in the order in which they joined, each in this chain only. For what comes and goes with every call: a Set
 * that repeatedly becomes empty allocates a new table each time, in the old generation of the heap.
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

  /** A snapshot of the members, so that members may be added or removed during the iteration. */
  members(): readonly T[] {
    const members: T[] = [];
    for (let link = this.#end.after; link !== undefined && link !== this.#end; link = link.after) {
      members.push(link as T);
    }
    return members;
  }
}
