/** Characters that no shell interprets. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** The command that trusts a workspace, as typed where the program was started. Servers are often started elsewhere. */
export const trustCommand = ({ root, cwd }: { readonly root: string; readonly cwd: string }): string => {
  if (root === cwd) return "llmc trust";
  return `llmc trust --root ${PLAIN.test(root) ? root : `'${root.replaceAll("'", "'\\''")}'`}`;
};
