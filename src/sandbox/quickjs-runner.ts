import { createRequire } from "node:module";
import { dirname } from "node:path";
import { bundledFile } from "../host/os/bundled-files.ts";
import type { Confinement } from "./confined.ts";
import type { Runner } from "./contract.ts";
import { GuestProcess } from "./guest-process.ts";
import { guestLimits, guestProgram } from "./node-program.ts";

/** What Node and the interpreter take. */
const RUNTIME_MB = 192;

/**
 * The modules of the interpreter, and the folders that they need. A published package has all of them in one folder; in a
 * checkout they are packages, each with its package.json above the file.
 */
const findInterpreter = () => {
  const core = bundledFile("quickjs/index.mjs", "quickjs-emscripten-core");
  const variant = bundledFile("quickjs/variant.mjs", "@jitl/quickjs-wasmfile-release-sync");
  const isShipped = dirname(core) === dirname(variant);
  const folders = isShipped
    ? [dirname(core)]
    : [core, variant, createRequire(core).resolve("@jitl/quickjs-ffi-types")].map((file) =>
        dirname(dirname(file)),
      );
  return { modules: { core, variant }, folders };
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
    const { modules, folders } = findInterpreter();
    const settings = { memoryBytes: memoryBytes(), quickJs: modules };
    const program = guestProgram("quickjs-main", settings, folders);
    const guest = new GuestProcess(
      await confinement.start(program, guestLimits(settings.memoryBytes, RUNTIME_MB)),
    );
    await guest.ready;
    return guest;
  },
});
