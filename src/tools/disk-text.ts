import type { CallContext } from "./contract.ts";
import type { Reveal } from "./edits/reveal.ts";

/**
 * The one way in which a tool that writes answers with text of the disk that the caller did not send: a token may have the
 * scope `write` alone, and a policy may forbid what reads.
 */
export const revealFromDisk =
  ({ caller }: Pick<CallContext, "caller">): Reveal =>
  (show) =>
    (caller.mayRead?.() ?? caller.may.has("read")) ? show() : undefined;
