/**
 * Small functions of browsers and Node that models expect and QuickJS lacks, evaluated inside the interpreter: a text,
 * because it is code of the guest. They reach nothing outside; what a program breaks here it breaks for itself.
 */
export const WEB_PRELUDE = String.raw`(() => {
  "use strict";
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  const bytesOf = (text) => {
    const escaped = encodeURIComponent(text.toWellFormed());
    const bytes = [];
    for (let i = 0; i < escaped.length; i++)
      if (escaped[i] === "%") {
        bytes.push(parseInt(escaped.slice(i + 1, i + 3), 16));
        i += 2;
      } else bytes.push(escaped.charCodeAt(i));
    return bytes;
  };
  /** The length of a valid sequence that begins here, as the Unicode standard defines it; 0 where none does. */
  const sequenceAt = (bytes, at) => {
    const first = bytes[at];
    if (first < 0x80) return 1;
    const length = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
    for (let i = 1; i < length; i++) {
      const low = i > 1 ? 0x80 : first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
      const high = i > 1 ? 0xbf : first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
      if (!(bytes[at + i] >= low && bytes[at + i] <= high)) return 0;
    }
    return length;
  };
  define("TextEncoder", class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return new Uint8Array(bytesOf(String(text))); }
  });
  define("TextDecoder", class TextDecoder {
    #isFatal;
    constructor(label = "utf-8", { fatal = false } = {}) {
      if (!/^utf-?8$/i.test(label)) throw new RangeError("Only UTF-8 can be decoded here.");
      this.#isFatal = fatal;
    }
    get encoding() { return "utf-8"; }
    decode(data = new Uint8Array()) {
      const bytes = ArrayBuffer.isView(data)
        ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
        : new Uint8Array(data);
      const parts = [];
      for (let at = 0; at < bytes.length; ) {
        const length = sequenceAt(bytes, at);
        if (length === 0 && this.#isFatal) throw new TypeError("The data is not valid UTF-8.");
        let code = length === 0 ? 0xfffd : length === 1 ? bytes[at] : bytes[at] & (0x7f >> length);
        for (let i = 1; i < length; i++) code = (code << 6) | (bytes[at + i] & 0x3f);
        parts.push(String.fromCodePoint(code));
        at += length || 1;
      }
      return parts.join("").replace(/^\ufeff/, "");
    }
  });

  define("btoa", (data) => {
    const text = String(data);
    const parts = [];
    for (let i = 0; i < text.length; i += 3) {
      const [a, b, c] = [text.charCodeAt(i), text.charCodeAt(i + 1), text.charCodeAt(i + 2)];
      if (a > 255 || b > 255 || c > 255) throw new RangeError("btoa takes characters up to U+00FF: encode the text first.");
      const bits = (a << 16) | ((b || 0) << 8) | (c || 0);
      parts.push(
        ALPHABET[bits >> 18], ALPHABET[(bits >> 12) & 63],
        i + 1 < text.length ? ALPHABET[(bits >> 6) & 63] : "=",
        i + 2 < text.length ? ALPHABET[bits & 63] : "=",
      );
    }
    return parts.join("");
  });
  define("atob", (data) => {
    let text = String(data).replace(/[\t\n\f\r ]/g, "");
    if (text.length % 4 === 0) text = text.replace(/={1,2}$/, "");
    if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw new TypeError("atob takes valid Base64.");
    const parts = [];
    let [bits, count] = [0, 0];
    for (const char of text) {
      bits = ((bits << 6) | ALPHABET.indexOf(char)) & 0xffff;
      count += 6;
      if (count >= 8) {
        count -= 8;
        parts.push(String.fromCharCode((bits >> count) & 255));
      }
    }
    return parts.join("");
  });

  const copied = (value, seen) => {
    if (typeof value === "function" || typeof value === "symbol") throw new TypeError("A " + typeof value + " cannot be cloned.");
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (made) => (seen.set(value, made), made);
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) return keep(new value.constructor(copied(value.buffer, seen), value.byteOffset, value.length ?? value.byteLength));
    if (value instanceof Map) {
      const made = keep(new Map());
      for (const [key, item] of value) made.set(copied(key, seen), copied(item, seen));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      for (const item of value) made.add(copied(item, seen));
      return made;
    }
    const isError = value instanceof Error;
    const made = keep(Array.isArray(value) ? new Array(value.length) : isError ? new Error(value.message) : {});
    if (isError) made.name = value.name;
    else for (const key of Object.keys(value)) made[key] = copied(value[key], seen);
    return made;
  };
  define("structuredClone", (value) => copied(value, new Map()));
  define("queueMicrotask", (work) => {
    if (typeof work !== "function") throw new TypeError("queueMicrotask takes a function.");
    Promise.resolve().then(work);
  });
})()`;
