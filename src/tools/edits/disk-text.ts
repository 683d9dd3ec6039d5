import type { CallContext } from "../contract.ts";

/** Gives what a file holds, or what follows from it, to a caller who may read it; nothing to any other. */
export type TellFromDisk = <T>(tell: () => T) => T | undefined;

/**
 * The one way in which a tool that writes answers with text of the disk that the caller did not send: a token may have the
 * scope `write` alone, and a policy may forbid what reads.
 */
export const tellFromDisk =
  ({ caller }: Pick<CallContext, "caller">): TellFromDisk =>
  (tell) =>
    (caller.mayRead?.() ?? caller.may.has("read")) ? tell() : undefined;
