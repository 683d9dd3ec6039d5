import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userFolders } from "../src/config/user-folders.ts";
import { openSecretKey } from "../src/host/own-files/secret-key.ts";
import { stateFolderPath } from "../src/host/own-files/state-folder.ts";

/** The state folder that the programs under test have, too: the runner points both to a folder of its own. */
export const USER_STATE = userFolders(process.env, tmpdir()).state;

/** A file of what llmc keeps in that workspace. */
export const ownState = (workspace: string, ...names: readonly string[]): string =>
  join(stateFolderPath({ workspace: realpathSync(workspace), key: openSecretKey(USER_STATE) }), ...names);
