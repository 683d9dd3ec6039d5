import { ellipsize, showControls } from "../base/text.ts";

const MAX_CHARS = 300;

const HIDDEN = "[hidden]";

/** Names of options and variables whose values are secret. */
const SECRET_NAME = /(?:token|secret|passw|credential|api.?key|private.?key|access.?key|auth|bearer)/i;

/** The user and password of an address. */
const USER_INFO = /(?<=:\/\/)[^/@\s]+(?=@)/g;

/** A long run of characters as keys have them: letters of both cases and digits. */
const KEY_LIKE = /[A-Za-z0-9+/_=-]{24,}/g;

const isKeyLike = (run: string): boolean =>
  /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run) && !/[/\-_].*[/\-_].*[/\-_]/.test(run);

const hideIn = (argument: string): string =>
  argument.replace(USER_INFO, HIDDEN).replace(KEY_LIKE, (run) => (isKeyLike(run) ? HIDDEN : run));

const showOne = (argument: string, previous: string | undefined): string => {
  const named = /^([^=\s]{1,64})=(.*)$/s.exec(argument);
  if (named?.[1] !== undefined && SECRET_NAME.test(named[1])) return `${named[1]}=${HIDDEN}`;
  if (previous?.startsWith("-") === true && !previous.includes("=") && SECRET_NAME.test(previous))
    return HIDDEN;
  return hideIn(argument);
};

/** A caller cannot end a line of the question, nor write one of its own: what is not plain is quoted. */
const quote = (argument: string): string =>
  /^[\w@%+=:,./[\]-]+$/.test(argument)
    ? argument
    : JSON.stringify(showControls(argument)).replace(
        /\p{Cf}/gu,
        (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );

/** A path for a person who decides on it. */
export const showPath = (path: string): string => ellipsize(quote(path), MAX_CHARS);

/** A command for a person who decides on it: control characters visible, secrets hidden, bounded. */
export const showArgv = (argv: readonly string[]): string =>
  ellipsize(argv.map((argument, at) => quote(showOne(argument, argv[at - 1]))).join(" "), MAX_CHARS);
