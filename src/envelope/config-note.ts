import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

const NOT_WRITTEN = /could not (?:write|lock) config file|unable to (?:write|update) (?:the )?.{0,40}config/i;
/** More than an error message needs. */
const READ_CHARS = 100_000;

/** Git goes on where it cannot write its configuration, and says so in the system's words. */
export const configNote = ({ programs }: Launched, output: Output): string | undefined =>
  programs.some(({ name }) => name === "git") && NOT_WRITTEN.test(output.stderr().slice(-READ_CHARS))
    ? "the upstream branch was not set or removed: commands do not write git's configuration; the user can do that in a terminal"
    : undefined;
