import { LlmcError } from "../base/error.ts";

/** Bytes that may be held at once, by all who take some. */
export interface ByteBudget {
  /** Throws `busy` where too many are taken already. */
  take(bytes: number): void;
  give(bytes: number): void;
}

export const createByteBudget = (maxBytes: number): ByteBudget => {
  let taken = 0;
  return {
    take: (bytes) => {
      if (taken + bytes > maxBytes)
        throw new LlmcError("busy", `The requests under way hold more than ${maxBytes} bytes.`, {
          hint: "Wait for some of them.",
        });
      taken += bytes;
    },
    give: (bytes) => {
      taken -= bytes;
    },
  };
};
