import type { PolicyDecision, PolicyRequest } from "./model.ts";

/** What a request comes to; `ask`: allowed if the user agrees. */
export type Judgement =
  | { readonly outcome: "allow" | "deny"; readonly decision: PolicyDecision }
  | {
      readonly outcome: "ask";
      /** As things are, and as they would be with the user's consent. */
      readonly decision: PolicyDecision;
      readonly agreed: PolicyDecision;
    };

/** Whether something forbids it, or it could not be decided; otherwise nothing permits it. */
export const isForbidden = ({ allowed, policies, failure, brokenAt }: PolicyDecision): boolean =>
  !allowed && (policies.length > 0 || failure !== undefined || brokenAt !== undefined);

/**
 * The first request has to be permitted. The others are about the same thing under another name: what forbids that forbids
 * this, but nobody has to permit it a second time.
 */
const decideAll = (
  decide: (request: PolicyRequest) => PolicyDecision,
  [first, ...others]: readonly [PolicyRequest, ...PolicyRequest[]],
): PolicyDecision => {
  const decision = decide(first);
  if (others.length === 0 || isForbidden(decision)) return decision;
  return others.map(decide).find(isForbidden) ?? decision;
};

/** The one way in which the server, `policy explain` and `policy test` come to an outcome. */
export const judge = (
  decide: (request: PolicyRequest) => PolicyDecision,
  requests: (granted: boolean) => readonly [PolicyRequest, ...PolicyRequest[]],
): Judgement => {
  const decision = decideAll(decide, requests(false));
  if (decision.allowed) return { outcome: "allow", decision };
  const agreed = decideAll(decide, requests(true));
  return agreed.allowed ? { outcome: "ask", decision, agreed } : { outcome: "deny", decision };
};
