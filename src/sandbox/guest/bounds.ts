/** Bounds of what a guest sends. An honest guest keeps to them; the server ends one that does not. */
export const MAX_FILES = 100;
export const MAX_FILE_NAME_CHARS = 200;
/** Far longer than the name of any tool. */
export const MAX_TOOL_NAME_CHARS = 200;
/** That wait at once in one program. */
export const MAX_TIMERS = 1000;
/** Of arrays and objects in a result: what reads it calls itself for each level. */
export const MAX_RESULT_DEPTH = 200;
