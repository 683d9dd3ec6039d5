/** Characters that no shell interprets. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** The command that trusts a workspace, as typed in this process's folder. Servers are often started elsewhere. */
export const trustCommand = (root: string): string => {
  if (root === process.cwd()) return "llmc trust";
  return `llmc trust --root ${PLAIN.test(root) ? root : `'${root.replaceAll("'", "'\\''")}'`}`;
};
