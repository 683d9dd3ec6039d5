import { tmpdir } from "node:os";
import { userFolders } from "../src/config/user-folders.ts";

/** The state folder that the programs under test have, too: the runner points both to a folder of its own. */
export const USER_STATE = userFolders(process.env, tmpdir()).state;
