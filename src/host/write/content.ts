import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";

/** How a text file is stored; a rewrite keeps it. */
export type TextForm = "utf-8" | "utf-8 with BOM" | "utf-16le" | "utf-16be";

// As the reads do it: what they call binary is not edited as text.
const SNIFF_BYTES = 8 * 1024;

const BOMS: Readonly<Record<TextForm, Buffer>> = {
  "utf-8": Buffer.alloc(0),
  "utf-8 with BOM": Buffer.from([0xef, 0xbb, 0xbf]),
  "utf-16le": Buffer.from([0xff, 0xfe]),
  "utf-16be": Buffer.from([0xfe, 0xff]),
};

const startsWith = (head: Buffer, start: Buffer): boolean => head.subarray(0, start.length).equals(start);

/** By the first bytes. A binary file has no form. */
export const sniffForm = (head: Buffer): TextForm | undefined => {
  if (startsWith(head, BOMS["utf-8 with BOM"])) return "utf-8 with BOM";
  // Two NULs after it would mean UTF-32, which is not supported.
  if (startsWith(head, BOMS["utf-16le"]) && !startsWith(head, Buffer.from([0xff, 0xfe, 0, 0])))
    return "utf-16le";
  if (startsWith(head, BOMS["utf-16be"])) return "utf-16be";
  return head.subarray(0, SNIFF_BYTES).includes(0) ? undefined : "utf-8";
};

const notText = (requestedPath: string): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(requestedPath)} is not text in UTF-8 or UTF-16.`, {
    hint: "An edit would destroy bytes that cannot be shown, so it is left as it is.",
  });

export interface DecodedText {
  /** Without BOM, with the line endings it has. */
  readonly text: string;
  readonly form: TextForm;
}

export const decodeText = (bytes: Buffer, requestedPath: string): DecodedText => {
  const form = sniffForm(bytes);
  if (form === undefined) throw notText(requestedPath);
  const encoding = form === "utf-8 with BOM" ? "utf-8" : form;
  try {
    // ignoreBOM keeps a second mark, which then is a character of the text.
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    return { text: decoder.decode(bytes.subarray(BOMS[form].length)), form };
  } catch {
    throw notText(requestedPath);
  }
};

/** The bytes of a text alone, as a file of that form holds them. */
export const encodeRaw = (text: string, form: TextForm): Buffer => {
  if (!text.isWellFormed()) {
    throw new LlmcError("invalid_args", "The text contains half a character (a lone surrogate).", {
      hint: "Send whole characters.",
    });
  }
  if (form === "utf-16le") return Buffer.from(text, "utf16le");
  if (form === "utf-16be") return Buffer.from(text, "utf16le").swap16();
  return Buffer.from(text, "utf8");
};

export const encodeText = ({ text, form }: DecodedText): Buffer =>
  Buffer.concat([BOMS[form], encodeRaw(text, form)]);

// Twelve digits are what the reads show; fewer would match by accident.
const EXPECTATION = /^[0-9a-f]{12,64}$/;

/** A caller's hash, or the start of one, in small letters. */
export const parseExpectation = (expected: string | undefined): string | undefined => {
  if (expected === undefined) return undefined;
  const digits = expected.toLowerCase();
  if (EXPECTATION.test(digits)) return digits;
  throw new LlmcError("invalid_args", "expected_sha256 is not a SHA-256 in hex.", {
    hint: "Give all 64 digits, or the first 12 or more.",
    details: { field: "expected_sha256" },
  });
};
