import { LlmcError } from "../../base/error.ts";
import type { SendRequest } from "./contract.ts";

/** The kernel cuts longer lines of a terminal without a word. */
const MAX_TERMINAL_LINE = 4095;

const NAMED_KEYS: Readonly<Record<string, string>> = {
  enter: "\r",
  tab: "\t",
  esc: "\u001b",
  backspace: "\u007f",
  up: "\u001b[A",
  down: "\u001b[B",
  right: "\u001b[C",
  left: "\u001b[D",
  "ctrl-\\": "\u001c",
};

/** Keys that work without a terminal, as what they mean. */
const WITHOUT_TERMINAL: Readonly<Record<string, NodeJS.Signals | "eof">> = {
  "ctrl-c": "SIGINT",
  "ctrl-\\": "SIGQUIT",
  "ctrl-d": "eof",
};

export type InputAction =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "signal"; readonly signal: NodeJS.Signals }
  | { readonly kind: "eof" };

const refuse = (field: string, message: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", message, { hint, details: { field } });

const keyBytes = (key: string): string | undefined => {
  const ctrl = /^ctrl-([a-z])$/.exec(key)?.[1];
  if (ctrl !== undefined) return String.fromCharCode(ctrl.charCodeAt(0) - 96);
  return NAMED_KEYS[key] ?? ([...key].length === 1 ? key : undefined);
};

/** As people write it: ctrl-c, Ctrl+C, C-c, ^C. */
const nameOf = (key: string): string => {
  if (key.length === 1) return key;
  const control = /^(?:(?:ctrl|control|c)[-+]|\^)(.)$/i.exec(key)?.[1];
  const name = (control === undefined ? key : `ctrl-${control}`).toLowerCase();
  return { return: "enter", escape: "esc" }[name] ?? name;
};

const keyAction = (key: string, pty: boolean): InputAction => {
  const name = nameOf(key);
  const bytes = keyBytes(name);
  if (bytes === undefined)
    throw refuse(
      "key",
      "There is no such key.",
      "Use one character, ctrl-c, ctrl-d, enter, tab, esc or an arrow (up).",
    );
  const meaning = WITHOUT_TERMINAL[name];
  if (pty || [...name].length === 1) return { kind: "bytes", bytes: Buffer.from(bytes) };
  if (meaning === undefined)
    throw refuse(
      "key",
      "Only ctrl-c, ctrl-d and ctrl-\\ mean something without a terminal.",
      "Start it with pty.",
    );
  return meaning === "eof" ? { kind: "eof" } : { kind: "signal", signal: meaning };
};

const lineAction = (input: string, pty: boolean): InputAction => {
  const line = input.endsWith("\n") ? input : `${input}\n`;
  if (pty && line.split("\n").some((part) => Buffer.byteLength(part) > MAX_TERMINAL_LINE))
    throw refuse(
      "input",
      `A terminal takes lines of at most ${MAX_TERMINAL_LINE} bytes.`,
      "Break the line, pass it in a file, or start the process without pty.",
    );
  return { kind: "bytes", bytes: Buffer.from(line) };
};

/** What a request does to the process: the line first, then the key. */
export const inputActions = ({ input, key }: SendRequest, pty: boolean): readonly InputAction[] => {
  if (input === undefined && key === undefined)
    throw refuse("input", "Nothing to send.", "Give input, key or both.");
  return [
    ...(input === undefined ? [] : [lineAction(input, pty)]),
    ...(key === undefined ? [] : [keyAction(key, pty)]),
  ];
};
