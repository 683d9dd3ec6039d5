import { LlmcError } from "../base/error.ts";
import type { Loaded } from "../config/load.ts";
import { isAirGapped } from "../host/air-gap/is-air-gapped.ts";

/** The one rule, whatever the way in: with `air_gapped_mode`, nothing is done where the machine's network is. */
export const refuseOutside = ({ config: { mcp } }: Loaded): void => {
  if (!mcp.security.air_gapped_mode || isAirGapped()) return;
  throw new LlmcError(
    "unavailable",
    "mcp.security.air_gapped_mode is true, but this process has a network.",
    {
      hint: "Start the server with `llmc serve`, which enters a network namespace first.",
    },
  );
};
