import { closeSync, constants, openSync } from "node:fs";
import koffi from "koffi";
import { LlmcError } from "../../base/error.ts";

const libc = koffi.load(null);
const openMaster = libc.func("posix_openpt", "int", ["int"]);
const grant = libc.func("grantpt", "int", ["int"]);
const unlock = libc.func("unlockpt", "int", ["int"]);
const nameOf = libc.func("ptsname_r", "int", ["int", "void *", "size_t"]);
const ioctl = libc.func("ioctl", "int", ["int", "ulong", "void *"]);

const O_CLOEXEC = 0o2000000;
const TIOCSWINSZ = 0x5414;
/** Wide, so that lines are not broken for a screen that nobody looks at. */
const COLUMNS = 160;
const ROWS = 40;

export interface PseudoTerminal {
  /** Our end; it never blocks, and no child inherits it: one that held it would never see its terminal close. */
  readonly master: number;
  /** The process's end; to be handed to it, and closed here then. */
  readonly child: number;
}

const missing = (cause: string): LlmcError =>
  new LlmcError("unavailable", "This machine has no pseudo-terminal to give.", {
    hint: "Start the process without pty.",
    cause,
  });

const must = (step: string, result: unknown): void => {
  if (Number(result) !== 0) throw missing(`${step}: errno ${koffi.errno()}`);
};

/**
 * Straight from the C library. The usual packages do not serve here: theirs start the program themselves, without the
 * descriptors that our launchers need, and write in a way that stops the whole server when the program does not read.
 */
export const openPseudoTerminal = (): PseudoTerminal => {
  const flags = constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK | O_CLOEXEC;
  const master = Number(openMaster(flags));
  if (master < 0) throw missing(`posix_openpt: errno ${koffi.errno()}`);
  try {
    must("grantpt", grant(master));
    must("unlockpt", unlock(master));
    const name = Buffer.alloc(128);
    must("ptsname_r", nameOf(master, name, name.length));
    const size = Buffer.alloc(8);
    size.writeUInt16LE(ROWS, 0);
    size.writeUInt16LE(COLUMNS, 2);
    must("TIOCSWINSZ", ioctl(master, TIOCSWINSZ, size));
    const path = name.toString("latin1", 0, name.indexOf(0));
    return { master, child: openSync(path, constants.O_RDWR | constants.O_NOCTTY) };
  } catch (thrown) {
    closeSync(master);
    throw thrown instanceof LlmcError ? thrown : missing(String(thrown));
  }
};
