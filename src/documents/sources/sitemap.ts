import { gunzipSync } from "node:zlib";
import { LlmcError } from "../../base/error.ts";

/** As the protocol of sitemaps bounds them. */
export const MAX_SITEMAP_BYTES = 50 * 1024 * 1024;

export interface Sitemap {
  /** Whether the addresses are those of further sitemaps. */
  readonly isIndex: boolean;
  readonly addresses: readonly string[];
  /** Whether it has more addresses than these, or its last tag is missing. */
  readonly isCut: boolean;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const ENTITY = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi;

const decodeEntities = (text: string): string =>
  text.replace(ENTITY, (whole, name: string | undefined, decimal?: string, hex?: string) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const point = decimal === undefined ? Number(`0x${hex}`) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });

/** The first tag of a sitemap, which may give its names a prefix: `<sm:urlset xmlns:sm="…">`. */
const ROOT = /<((?:[\w-]{1,40}:)?)(urlset|sitemapindex)[\s/>]/;
const ROOT_CHARS = 4096;

/** Only comments and white space may follow it. */
const END =
  /<\/(?:[\w-]{1,40}:)?(?:urlset|sitemapindex)\s*>|<(?:[\w-]{1,40}:)?(?:urlset|sitemapindex)(?:\s[^<>]{0,1000})?\/>/;
const END_CHARS = 4096;

const MAX_ADDRESS_CHARS = 2048;
const GZIP = [0x1f, 0x8b];

const textOf = (bytes: Uint8Array): string => {
  const isCompressed = GZIP.every((byte, index) => bytes[index] === byte);
  try {
    return new TextDecoder().decode(
      isCompressed ? gunzipSync(bytes, { maxOutputLength: MAX_SITEMAP_BYTES }) : bytes,
    );
  } catch (cause) {
    throw new LlmcError("file_too_large", "The sitemap is damaged, or too large when it is decompressed.", {
      cause,
    });
  }
};

/** What stands between the tags `loc`. Nothing else of the file is parsed, so nothing else of it can do harm. */
export const readSitemap = (bytes: Uint8Array, maxAddresses: number): Sitemap => {
  const text = textOf(bytes);
  const [, prefix = "", root] = ROOT.exec(text.slice(0, ROOT_CHARS)) ?? [];
  const [opening, closing] = [`<${prefix}loc>`, `</${prefix}loc>`];
  const addresses: string[] = [];
  let at = 0;
  // Pages that a sitemap no longer names are taken to be gone, so it has to be complete.
  let isCut = !END.test(text.slice(-END_CHARS));
  for (;;) {
    const start = text.indexOf(opening, at);
    const end = start < 0 ? -1 : text.indexOf(closing, start);
    if (end < 0) break;
    if (addresses.length >= maxAddresses) {
      isCut = true;
      break;
    }
    at = end;
    const address = decodeEntities(
      text.slice(start + opening.length, Math.min(end, start + opening.length + MAX_ADDRESS_CHARS)).trim(),
    );
    addresses.push(address.replace(/^<!\[CDATA\[(.*)\]\]>$/s, "$1"));
  }
  return { isIndex: root === "sitemapindex", addresses, isCut };
};

/** Whether a document is a sitemap, by its beginning. */
export const isSitemap = (bytes: Uint8Array, address: string): boolean => {
  if (/\.xml\.gz$/i.test(new URL(address).pathname)) return true;
  return ROOT.test(new TextDecoder().decode(bytes.subarray(0, ROOT_CHARS)));
};
