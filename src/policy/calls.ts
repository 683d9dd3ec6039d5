/** The part of a call that policy looks at. */
interface CallFacts {
  /** The tool, or the endpoint. */
  readonly name: string;
  /** Scopes that the call needs: a tool needs the one of its effect. */
  readonly needs: readonly string[];
  /** The scopes that the door granted to this caller. */
  readonly granted: ReadonlySet<string>;
}

export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Whether a caller may use a tool or an endpoint at all. What it may then touch is decided in `host`, by path or program. */
export const decideCall = ({ name, needs, granted }: CallFacts): Decision => {
  const missing = needs.find((scope) => !granted.has(scope));
  return missing === undefined
    ? { allowed: true }
    : { allowed: false, reason: `This caller may not use ${name}: it lacks the scope "${missing}".` };
};
