/** Maximum length of a control sequence; an unterminated one is treated as text. */
const MAX_SEQUENCE = 1000;

// Colours and cursor moves (CSI), titles and links (OSC and its like), and the short ones.
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control sequences of a terminal.
  /\u001b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\u0007\u001b\n]{0,1000}(?:\u0007|\u001b\\)|[ -/]{0,4}[0-OQ-WYZ`-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is left of them once the sequences are gone.
const CONTROL = /[\u0000-\u0007\u000b-\u001f\u007f]/g;

const eraseBack = (line: string): string => {
  const shown: string[] = [];
  for (const char of line) {
    if (char === "\b") shown.pop();
    else shown.push(char);
  }
  return shown.join("");
};

/** What a line shows in the end: a carriage return starts it again, as progress bars do. */
const settle = (line: string): string => {
  const written = line.includes("\r") ? (line.split("\r").findLast((part) => part !== "") ?? "") : line;
  return (written.includes("\b") ? eraseBack(written) : written).replace(CONTROL, "");
};

/** The text of a terminal's output, without what only moves the cursor or paints. */
export const terminalText = (raw: string): string =>
  raw.replace(SEQUENCE, "").split("\n").map(settle).join("\n");

const utf8Length = (lead: number): number =>
  lead >= 0xf8 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

/** Length of the part that ends with a whole character. */
const wholeCharacters = (bytes: Buffer): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) break;
    if (byte >= 0xc0) return utf8Length(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
};

const ESC = 0x1b;

/** Length of the part that can be shown now: a character or a control sequence that is still coming waits. */
export const settledLength = (bytes: Buffer, isTerminal: boolean): number => {
  const whole = wholeCharacters(bytes);
  if (!isTerminal) return whole;
  const start = bytes.subarray(0, whole).lastIndexOf(ESC);
  if (start >= 0 && whole - start < MAX_SEQUENCE) {
    const tail = bytes.toString("latin1", start, whole);
    if (tail.search(SEQUENCE) !== 0) return start;
  }
  // The line feed after it may not have arrived yet.
  return bytes[whole - 1] === 0x0d ? whole - 1 : whole;
};
