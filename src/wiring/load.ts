import { type Loaded, loadConfig } from "../config/load.ts";
import type { LoadRequest } from "../config/load-request.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { createTrustFiles } from "../host/trust/trust-files.ts";

/** The key that names the folder of custom modules, which are trusted by their digests. */
export const MODULES_KEY = "mcp.tools.custom_modules";

/** The key that names the folder of scripts that become tools, which are trusted by their digests, too. */
export const EXECUTABLES_KEY = "mcp.tools.executables";

/** The key that names policy files; those of a workspace are trusted by their digests, too. */
export const POLICIES_KEY = "mcp.security.policy_files";

/** The key that names the folder of declared flows, which are trusted by their digests, too. */
export const FLOWS_KEY = "mcp.kb.flows";

/** The configuration, by the one way in which every command and door loads it. */
export const loadFor = (
  request: Omit<LoadRequest, "disk" | "trust" | "lines">,
  lines = true,
  disk: LoadRequest["disk"] = createDisk(),
): Promise<Loaded> => loadConfig({ ...request, disk, trust: createTrustFiles(), lines });
