/** How runners and checkers mark what passed: whatever such a line is called after, nothing went wrong there. */
const PASSED =
  /^\s*(?:[✔✓√☑✅] ?\S|[oO][kK]\b|PASS(?:ED)?\b|--- PASS\b)|\.\.\. ok$|\bPASSED(?: +\[ *\d{1,3}%\])?$/;

/** How they mark what failed, and how programs begin to tell what was thrown. */
const FAILED =
  /^\s*(?:[✖✗✘×✕❌] ?\S|not ok\b|FAIL(?:ED)?\b|--- FAIL\b|E {3}\S)|\.\.\. FAILED$|\bFAILED(?: +\[ *\d{1,3}%\])?$|\b[A-Z]\w{0,100}(?:Error|Exception)(?: \[\w{1,100}\])?(?::|$)|\b(?:error(?:\[\w{1,40}\])?|fatal|panic): |^\s*(?:Error:|Traceback|panicked)/;

/** A total that says that there were none. */
const ZERO_TOTAL = /\b(?:0|no) (?:errors?|failures?|failed)\b/gi;

/** Words that report a problem, anywhere in a line. */
const MENTIONS =
  /\b(?:error|errors|fatal|panic|panicked|failed|failure|exception|traceback|undefined reference)\b/i;

/** Longer lines are data; their beginning says what they are. */
const READ_CHARS = 2000;

/**
 * How surely a line of a long text says that something went wrong: 2 where it reports a failure, 1 where it only speaks
 * of one, 0 where it does neither, or reports a success.
 */
export const rankErrorLine = (line: string): 0 | 1 | 2 => {
  const text = line.length < READ_CHARS ? line : line.slice(0, READ_CHARS);
  if (PASSED.test(text)) return 0;
  if (FAILED.test(text)) return 2;
  return MENTIONS.test(text.replace(ZERO_TOTAL, "")) ? 1 : 0;
};
