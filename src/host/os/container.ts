import { existsSync } from "node:fs";

/** Left by Docker and Podman; other runtimes leave none, so there the operator sets the variable. */
const MARKERS = ["/.dockerenv", "/run/.containerenv"];

/**
 * Whether something says that this is a container: a marker, which proves nothing by itself, so it counts only where the
 * operator's configuration says so (REQ-D8).
 */
export const isContainer = (env: Readonly<Record<string, string | undefined>>): boolean =>
  env["LLMC_ISOLATED"] === "1" || MARKERS.some(existsSync);
