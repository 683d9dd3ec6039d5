import { LlmcError } from "../base/error.ts";
import { findSystemProgram } from "../host/os/system-programs.ts";
import type { Guest, Runner } from "./contract.ts";
import { NATIVE_PYTHON } from "./guest/native-python.ts";
import { GuestProcess } from "./guest-process.ts";
import type { NativeProgram, NativeSandbox } from "./native-process.ts";
import { GUEST_FILES, guestFile } from "./start-guest.ts";

const MIB = 1024 * 1024;
/** What Node itself takes, and what it reserves and never uses. */
const NODE_BYTES = 128 * MIB;
const NODE_RESERVED_BYTES = 768 * MIB;
const PYTHON_BYTES = 64 * MIB;

interface NativeParts {
  readonly sandbox: NativeSandbox;
  readonly memoryBytes: () => number;
}

const startGuest = async (sandbox: NativeSandbox, program: NativeProgram): Promise<Guest> => {
  const guest = new GuestProcess(await sandbox.start(program));
  await guest.ready;
  return guest;
};

/** JavaScript and TypeScript in the Node that runs the server. */
export const createNodeRunner = ({ sandbox, memoryBytes }: NativeParts): Runner => ({
  name: "Node",
  languages: ["javascript", "typescript"],
  start: () => {
    const bytes = memoryBytes() + NODE_BYTES;
    const settings = { memoryBytes: bytes, packages: sandbox.packages() };
    return startGuest(sandbox, {
      argv: [
        process.execPath,
        "--disable-warning=ExperimentalWarning",
        `--max-old-space-size=${Math.floor(memoryBytes() / MIB)}`,
        guestFile("native-node-main"),
        JSON.stringify(settings),
      ],
      readable: GUEST_FILES,
      memoryBytes: bytes,
      reservedBytes: bytes + NODE_RESERVED_BYTES,
    });
  },
});

const noPython = (): LlmcError =>
  new LlmcError(
    "unavailable",
    "The system has no python3, which mcp.code_execution.native_languages asks for.",
    {
      hint: "The operator installs it, or takes python out of the list.",
      retryable: false,
    },
  );

/** Python in the system's own interpreter. */
export const createSystemPythonRunner = ({ sandbox, memoryBytes }: NativeParts): Runner => ({
  name: "system Python",
  languages: ["python"],
  start: async () => {
    const python = findSystemProgram("python3");
    if (python === undefined) throw noPython();
    const bytes = memoryBytes() + PYTHON_BYTES;
    return startGuest(sandbox, {
      // Isolated: no variables and no folder of the user say what is loaded.
      argv: [python, "-I", "-B", "-c", NATIVE_PYTHON, JSON.stringify({ packages: sandbox.packages() })],
      readable: [],
      memoryBytes: bytes,
      reservedBytes: bytes,
    });
  },
});
