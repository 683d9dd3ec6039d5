import { type UserFolders, userFolders } from "../config/user-folders.ts";

/** Characters that no shell interprets. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** The command that trusts a workspace, as typed where the program was started. Servers are often started elsewhere. */
export const trustCommand = ({ root, cwd }: { readonly root: string; readonly cwd: string }): string => {
  if (root === cwd) return "llmc trust";
  return `llmc trust --root ${PLAIN.test(root) ? root : `'${root.replaceAll("'", "'\\''")}'`}`;
};

/** Where the user's state folder is unless XDG_STATE_HOME says otherwise. */
export const usualState = ({ home }: UserFolders): string => userFolders({}, home).state;

/** The same for a refusal. Models read it, so it says which environment counts without naming its folders. */
export const trustCommandOf = ({
  folders,
  ...where
}: Parameters<typeof trustCommand>[0] & { readonly folders: UserFolders }): string =>
  folders.state === usualState(folders)
    ? trustCommand(where)
    : `${trustCommand(where)} (with the XDG_STATE_HOME of this server)`;
