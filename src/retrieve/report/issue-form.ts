/** What the form of an issue tracker puts into every report, and what machines say about themselves. */

/** Sections on the reporter's machine. Other headings end them. */
const MACHINE =
  /^(?:versions?|environment|environment info\w*|system|system details|system info\w*|your environment|operating system|platform|os|os \/ environment|configuration|installation|how did you install\b.*|(?:\w+ ){1,3}(?:versions?|backend)(?: info\w*)?|output of .*)\W*$/i;

export const isMachineSection = (heading: string): boolean => MACHINE.test(heading.trim());

const FORM_TERMS = new Set(
  (
    "a about above actual additional and any are art as behavior behaviour bug can code current default describe " +
    "description did do else example expect expected feature fix for from happen happened how i info information is issue " +
    "it minimal motivation observed of or other outcome possible prior problem propose proposed relevant reproduce " +
    "reproducer reproducible reproducing reproduction request result results script solution solutions steps suggestion " +
    "summary the thing to trace traceback want what with you your alternative alternatives context considered comments " +
    "please be screenshots stack"
  ).split(" "),
);

/** A heading of the form, which is the same in all reports. */
export const isForm = (heading: string): boolean =>
  (heading.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).every((term) => FORM_TERMS.has(term));

const VERSION = /^v?\d+(?:\.\w+)+[\w.+-]*$/;
/** Of words before and after the version: with more of them, it is a sentence. */
const MAX_TERMS_BEFORE = 4;
const MAX_TERMS_AFTER = 3;

/** `Numpy 1.24.3`, `- Python version: 3.8.1`, `OS: Ubuntu 20.04 LTS`: a name and a version. */
const isVersionLine = (text: string): boolean => {
  const terms = text.split(/[\s:=@,]+/).filter((term) => /\w/.test(term));
  const at = terms.findIndex((term) => VERSION.test(term));
  const before = terms.slice(0, at);
  return (
    at > 0 &&
    at <= MAX_TERMS_BEFORE &&
    terms.length - at - 1 <= MAX_TERMS_AFTER &&
    before.every((term) => /^[\w./()*-]+$/.test(term))
  );
};

const PLATFORM = /^(?:Linux|Windows|Darwin|macOS)-[\w.+-]+$/;

/** Trac's note below a title. */
const LAST_MODIFIED = /^\(last modified by [^()]*\)$/i;
/** What GitHub's forms put where nothing was written. */
const NO_ANSWER = /^_No response_$/;
const MAX_BOILERPLATE_CHARS = 120;

/** A line that says nothing about the problem. */
export const isBoilerplate = (line: string): boolean => {
  const text = line.trim();
  if (text === "" || text.length > MAX_BOILERPLATE_CHARS) return false;
  if (NO_ANSWER.test(text) || PLATFORM.test(text) || LAST_MODIFIED.test(text)) return true;
  return isForm(text) || isVersionLine(text);
};
