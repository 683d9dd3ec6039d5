import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { sniff, type TextForm } from "../read/text-slice.ts";

const BOMS: Readonly<Record<TextForm, Buffer>> = {
  "utf-8": Buffer.alloc(0),
  "utf-8 with BOM": Buffer.from([0xef, 0xbb, 0xbf]),
  "utf-16le": Buffer.from([0xff, 0xfe]),
  "utf-16be": Buffer.from([0xfe, 0xff]),
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
  const form = sniff(bytes);
  if (form === "binary") throw notText(requestedPath);
  const encoding = form === "utf-8 with BOM" ? "utf-8" : form;
  try {
    // ignoreBOM keeps a second mark, which then is a character of the text.
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    return { text: decoder.decode(bytes.subarray(BOMS[form].length)), form };
  } catch {
    throw notText(requestedPath);
  }
};

/** What text is appended in, by the first bytes. */
export const formOf = (head: Buffer): TextForm => {
  const form = sniff(head);
  return form === "binary" ? "utf-8" : form;
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
