import koffi from "koffi";

const ORDINARY_USER = 65_534;
const PR_SET_DUMPABLE = 4;

/**
 * Makes this test process, and every program that it starts, an ordinary user. Root cannot see the
 * failures that an ordinary user meets: no cgroup to write to, no foreign files to open, user namespaces only.
 */
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(ORDINARY_USER);
  process.setuid?.(ORDINARY_USER);
  // A process that changes its user loses the right to read its own /proc/self, which any newly started program has.
  const prctl = koffi.load(null).func("int prctl(int option, unsigned long value)");
  if (prctl(PR_SET_DUMPABLE, 1) !== 0) throw new Error(`prctl: errno ${koffi.errno()}`);
}
