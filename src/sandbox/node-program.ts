import { extname, join, resolve } from "node:path";
import type { ConfinedLimits, ConfinedProgram } from "./confined.ts";
import type { GuestSettings } from "./guest/messages.ts";

const MIB = 1024 * 1024;
/** What V8 reserves for code, and never uses, counts for the kernel's limit of data. */
const RESERVED_BYTES = 768 * MIB;
/** The heap of a guest process holds little but the messages. */
const HEAP_MB = 96;

const GUEST_FOLDER = join(import.meta.dirname, "guest");
/** Says that the files beside it are modules. */
const PACKAGE_FILE = resolve(import.meta.dirname, "../../package.json");

/**
 * One of the programs in `guest`. Node's own bounds are no wall, that is the system's; they make a break-out start with
 * less.
 */
export const guestProgram = (
  name: string,
  settings: GuestSettings,
  files: readonly string[],
): ConfinedProgram => {
  const readable = [GUEST_FOLDER, PACKAGE_FILE, ...files];
  return {
    readable,
    args: [
      "--permission",
      ...readable.map((path) => `--allow-fs-read=${path}`),
      "--disallow-code-generation-from-strings",
      "--no-addons",
      "--disable-warning=ExperimentalWarning",
      `--max-old-space-size=${HEAP_MB}`,
      join(GUEST_FOLDER, `${name}${extname(import.meta.filename)}`),
      JSON.stringify(settings),
    ],
  };
};

/** With what Node and the interpreter use besides the program's own memory. */
export const guestLimits = (memoryBytes: number, runtimeMb: number): ConfinedLimits => ({
  memoryBytes: memoryBytes + runtimeMb * MIB,
  reservedBytes: memoryBytes + runtimeMb * MIB + RESERVED_BYTES,
});
