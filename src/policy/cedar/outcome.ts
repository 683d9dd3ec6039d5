import type { PolicyDecision, PolicyRequest } from "./model.ts";

/** `ask`: allowed if the user agrees. */
export type Outcome = "allow" | "ask" | "deny";

export interface Judgement {
  readonly outcome: Outcome;
  /** The policies that decided as things are; where the user is asked, those that would allow it. */
  readonly policies: readonly string[];
  readonly brokenAt?: string | undefined;
}

/** What a request comes to, with the user's consent taken into account as the server does. */
export const judge = (
  decide: (request: PolicyRequest) => PolicyDecision,
  request: PolicyRequest,
): Judgement => {
  const decision = decide(request);
  if (decision.allowed) return { outcome: "allow", policies: decision.policies };
  const agreed = decide({ ...request, context: { ...request.context, granted: true } });
  if (agreed.allowed) return { outcome: "ask", policies: agreed.policies };
  return { outcome: "deny", policies: decision.policies, brokenAt: decision.brokenAt };
};
