import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Confinement } from "./confined.ts";
import type { Runner } from "./contract.ts";
import { GuestProcess } from "./guest-process.ts";
import { guestLimits, guestProgram } from "./node-program.ts";

/** What Node and the interpreter take. */
const RUNTIME_MB = 192;

/** The folders of the interpreter's packages: what `import` finds, up to the folder with its package.json. */
const interpreterFolders = (): readonly string[] => {
  const core = fileURLToPath(import.meta.resolve("quickjs-emscripten-core"));
  const variant = fileURLToPath(import.meta.resolve("@jitl/quickjs-wasmfile-release-sync"));
  const types = createRequire(core).resolve("@jitl/quickjs-ffi-types");
  return [core, variant, types].map((file) => dirname(dirname(file)));
};

export interface RunnerParts {
  readonly confinement: Confinement;
  /** Of the program; asked at each start. */
  readonly memoryBytes: () => number;
}

/** JavaScript and TypeScript in QuickJS, compiled to WebAssembly. */
export const createQuickJsRunner = ({ confinement, memoryBytes }: RunnerParts): Runner => ({
  name: "JavaScript",
  languages: ["javascript", "typescript"],
  start: async () => {
    const settings = { memoryBytes: memoryBytes() };
    const program = guestProgram("quickjs-main", settings, interpreterFolders());
    const guest = new GuestProcess(
      await confinement.start(program, guestLimits(settings.memoryBytes, RUNTIME_MB)),
    );
    await guest.ready;
    return guest;
  },
});
