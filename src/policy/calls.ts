/** The part of a call that policy looks at. */
interface CallFacts {
  readonly tool: string;
  readonly effect: string;
  /** The effects that this caller was granted by the door it came through. */
  readonly granted: ReadonlySet<string>;
}

export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Whether a caller may use a tool at all. What the tool may then touch is decided where it is touched, in `host`. */
export const decideCall = ({ tool, effect, granted }: CallFacts): Decision =>
  granted.has(effect)
    ? { allowed: true }
    : { allowed: false, reason: `This caller may not use ${tool}: its effect is "${effect}".` };
