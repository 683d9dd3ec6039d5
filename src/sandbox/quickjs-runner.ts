import { createRequire } from "node:module";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Confinement } from "./confined.ts";
import type { Runner } from "./contract.ts";
import type { GuestSettings } from "./guest/messages.ts";
import { GuestProcess } from "./guest-process.ts";

const MIB = 1024 * 1024;
/** What Node and the interpreter use besides the program's own memory. */
const RUNTIME_BYTES = 192 * MIB;
/** What V8 reserves for code, and never uses, counts for the kernel's limit of data. */
const RESERVED_BYTES = 768 * MIB;
/** The heap of this process holds little but the messages. */
const HEAP_MB = 96;

const GUEST_FOLDER = join(import.meta.dirname, "guest");
/** Says that the files beside it are modules. */
const PACKAGE_FILE = resolve(import.meta.dirname, "../../package.json");

/** The folders of the interpreter's packages: what `import` finds, up to the folder with its package.json. */
const interpreterFolders = (): readonly string[] => {
  const core = fileURLToPath(import.meta.resolve("quickjs-emscripten-core"));
  const variant = fileURLToPath(import.meta.resolve("@jitl/quickjs-wasmfile-release-sync"));
  const types = createRequire(core).resolve("@jitl/quickjs-ffi-types");
  return [core, variant, types].map((file) => dirname(dirname(file)));
};

/** Node's own bounds; the wall is the system's, and these make a break-out start with less. */
export const nodeOptions = (readable: readonly string[], heapMb: number): readonly string[] => [
  "--permission",
  ...readable.map((path) => `--allow-fs-read=${path}`),
  "--disallow-code-generation-from-strings",
  "--no-addons",
  "--disable-warning=ExperimentalWarning",
  `--max-old-space-size=${heapMb}`,
];

interface RunnerParts {
  readonly confinement: Confinement;
  /** Of the program, in bytes; asked at each start. */
  readonly memoryBytes: () => number;
}

/** JavaScript and TypeScript in QuickJS, compiled to WebAssembly. */
export const createQuickJsRunner = ({ confinement, memoryBytes }: RunnerParts): Runner => ({
  name: "JavaScript",
  languages: ["javascript", "typescript"],
  start: async () => {
    const readable = [GUEST_FOLDER, PACKAGE_FILE, ...interpreterFolders()];
    const settings: GuestSettings = { memoryBytes: memoryBytes() };
    const main = join(GUEST_FOLDER, `quickjs-main${extname(import.meta.filename)}`);
    const process = await confinement.start(
      { args: [...nodeOptions(readable, HEAP_MB), main, JSON.stringify(settings)], readable },
      {
        memoryBytes: settings.memoryBytes + RUNTIME_BYTES,
        reservedBytes: settings.memoryBytes + RESERVED_BYTES,
      },
    );
    const guest = new GuestProcess(process);
    await guest.ready;
    return guest;
  },
});
