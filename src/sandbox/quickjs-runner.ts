import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { bundledFile } from "../host/os/bundled-files.ts";
import type { Runner } from "./contract.ts";
import { GuestProcess } from "./guest-process.ts";
import { guestFile, type StartGuest } from "./start-guest.ts";

/** What Node and the interpreter take. */
const RUNTIME_MB = 192;

/**
 * The modules of the interpreter, and the folders that they need. A published package has all of them in one folder; in a
 * checkout they are packages, each with its package.json above the file.
 */
const findInterpreter = () => {
  // Inside, files have their real names only.
  const core = realpathSync.native(bundledFile("quickjs/index.mjs", "quickjs-emscripten-core"));
  const variant = realpathSync.native(
    bundledFile("quickjs/variant.mjs", "@jitl/quickjs-wasmfile-release-sync"),
  );
  const isShipped = dirname(core) === dirname(variant);
  const folders = isShipped
    ? [dirname(core)]
    : [core, variant, createRequire(core).resolve("@jitl/quickjs-ffi-types")].map((file) =>
        dirname(dirname(file)),
      );
  return { modules: { core, variant }, folders };
};

export interface RunnerParts {
  readonly startGuest: StartGuest;
  /** Of the program; asked at each start. */
  readonly memoryBytes: () => number;
}

/** JavaScript and TypeScript in QuickJS, compiled to WebAssembly. */
export const createQuickJsRunner = ({ startGuest, memoryBytes }: RunnerParts): Runner => ({
  name: "JavaScript",
  languages: ["javascript", "typescript"],
  start: async () => {
    const { modules, folders } = findInterpreter();
    const settings = { memoryBytes: memoryBytes(), quickJs: modules };
    const guest = new GuestProcess(
      await startGuest({
        program: guestFile("quickjs-main"),
        settings,
        files: folders,
        runtimeMb: RUNTIME_MB,
      }),
    );
    await guest.ready;
    return guest;
  },
});
