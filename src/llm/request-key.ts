import { createHash } from "node:crypto";
import type { GenerateRequest } from "./contract.ts";

/** Digest of a model and everything in a request that its answer depends on. */
export const requestKey = (
  model: string,
  { messages, maxOutputTokens, temperature }: GenerateRequest,
): string =>
  createHash("sha256")
    .update(
      JSON.stringify([model, messages.map(({ role, text }) => [role, text]), maxOutputTokens, temperature]),
    )
    .digest("hex");
