import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Loaded } from "../src/config/load.ts";
import { loadConfig } from "../src/config/load.ts";
import type { LoadRequest } from "../src/config/load-request.ts";
import type { TrustRecord } from "../src/config/trust-record.ts";

/** Nobody has trusted anything. */
export const NO_TRUST: LoadRequest["trust"] = { readRecord: async () => undefined };

/** Folders of a user who has none. */
export const NO_FOLDERS: LoadRequest["folders"] = {
  home: "/home/nobody",
  config: join(tmpdir(), "llmc-no-such-folder/config"),
  state: join(tmpdir(), "llmc-no-such-folder/state"),
};

type Request = Omit<LoadRequest, "trust" | "folders"> & Partial<LoadRequest>;

/** Loads the file of a workspace that is trusted with all that it says. */
export const loadTrusted = async (request: Request): Promise<Loaded> => {
  const whole: LoadRequest = { trust: NO_TRUST, folders: NO_FOLDERS, ...request };
  const { workspaceFile } = await loadConfig(whole);
  const record: TrustRecord = {
    version: 1,
    workspace: whole.root,
    values: Object.fromEntries((workspaceFile?.widening ?? []).map(({ key, grant }) => [key, grant])),
    digests: {},
  };
  return loadConfig({ ...whole, trust: { readRecord: async () => JSON.stringify(record) } });
};

/** The same for a text that is no file yet. */
export const loadText = (text: string | undefined, request: Partial<LoadRequest> = {}): Promise<Loaded> =>
  loadTrusted({
    disk: {
      readText: async (path) =>
        path.endsWith(".toml") && !path.includes("/llmc-no-such-folder/") ? text : undefined,
      realOrFuture: (path) => path,
      identityOf: () => null,
    },
    env: {},
    root: "/w",
    ...request,
  });
