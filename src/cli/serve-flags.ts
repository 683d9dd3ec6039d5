import { MODES } from "../core/options.ts";
import type { ServeOptions } from "./actions.ts";

const isMode = (text: string): text is (typeof MODES)[number] => MODES.some((mode) => mode === text);

/**
 * Parses `serve` and its flags without loading the whole command line, which would delay the start. Undefined for other
 * commands and for usage errors, which the command line then reports. A test checks that both parse alike.
 */
export const parseServe = (
  argv: readonly string[],
  parseArgs: typeof import("node:util").parseArgs,
): ServeOptions | undefined => {
  if (argv[0] !== "serve") return undefined;
  try {
    const { values } = parseArgs({
      args: argv.slice(1),
      options: {
        root: { type: "string" },
        config: { type: "string" },
        mode: { type: "string" },
        set: { type: "string", multiple: true },
        stdio: { type: "boolean" },
        http: { type: "boolean" },
        host: { type: "string" },
        port: { type: "string" },
        "generate-token": { type: "boolean" },
      },
    });
    const { mode, set, stdio, http, "generate-token": generateToken, ...rest } = values;
    if (mode !== undefined && !isMode(mode)) return undefined;
    return {
      ...rest,
      set: set ?? [],
      ...(mode === undefined ? {} : { mode }),
      ...(stdio ? { stdio } : {}),
      ...(http ? { http } : {}),
      ...(generateToken ? { generateToken } : {}),
    };
  } catch {
    return undefined;
  }
};
