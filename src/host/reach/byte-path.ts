import { isUtf8 } from "node:buffer";

/** Half of a surrogate pair stands for a byte of a name that is not UTF-8: no name that is UTF-8 can hold one. */
const ESCAPE = 0xdc00;

/** A file's name as text from which its bytes can be had again. */
export const nameOf = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? bytes.toString()
    : bytes
        .toString("latin1")
        .replace(/[\u0080-\u00ff]/g, (letter) => String.fromCharCode(ESCAPE + letter.charCodeAt(0)));

/** The argument for system calls: the path itself, or its bytes if a name in it is not UTF-8. */
export const systemPath = (path: string): string | Buffer =>
  path.isWellFormed()
    ? path
    : Buffer.concat(
        Array.from(path, (letter) => {
          const code = letter.charCodeAt(0) - ESCAPE;
          return letter.length === 1 && code >= 0x80 && code <= 0xff
            ? Buffer.from([code])
            : Buffer.from(letter);
        }),
      );

/** The length of the path in bytes, as the system counts it. */
export const pathBytes = (path: string): number => Buffer.byteLength(systemPath(path));
