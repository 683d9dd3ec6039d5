import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { type Download, download } from "../../host/net/download.ts";
import type { SourceItem, SourceNetwork, SourceOptions } from "../contract.ts";
import { contentHash, toSourceError } from "./read-tree.ts";
import { isSitemap, MAX_SITEMAP_BYTES, readSitemap, type Sitemap } from "./sitemap.ts";

/** Sitemaps that an index names, and those that these name. */
const MAX_DEPTH = 2;
const MAX_SITEMAPS = 1000;

/** The last part of the path, decoded if it is encoded UTF-8. */
const nameOf = (url: string): string => {
  const { pathname, hostname } = new URL(url);
  const last = posix.basename(pathname);
  try {
    return posix.basename(decodeURIComponent(last.replace(/%(?![0-9a-f]{2})/gi, "%25"))) || hostname;
  } catch {
    return last;
  }
};

const documentOf = (id: string, { url, mediaType, bytes }: Download): SourceItem => ({
  kind: "document",
  id,
  name: nameOf(url),
  bytes,
  mediaType,
  url,
  contentHash: contentHash(bytes),
});

const otherHost = (): LlmcError =>
  new LlmcError("egress_denied", "The sitemap names a page of another host, which is not fetched.");

/** Each failure is a row of the store; a site can name millions of pages elsewhere, at no cost to itself. */
const MAX_NAMED = 100;

const moreElsewhere = (sitemap: string, count: number): SourceItem => ({
  kind: "failure",
  id: `${sitemap}#other-hosts`,
  url: `${sitemap}#other-hosts`,
  error: new LlmcError(
    "egress_denied",
    `The sitemap names ${count} more pages of other hosts, which are not fetched.`,
  ),
});

const leftOut = (address: string): SourceItem => ({
  kind: "failure",
  id: address,
  url: address,
  error: new LlmcError(
    "file_too_large",
    "The sitemap names more than is read, or is cut off; the rest was left out.",
  ),
  isIncomplete: true,
});

type Get = (url: string, maxBytes: number) => Promise<Download>;

/** The pages that a sitemap names, also through an index. What cannot be listed is yielded as a failure. */
async function* pagesOf(
  first: Download,
  get: Get,
  maxAddresses: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<URL | SourceItem> {
  const { host } = new URL(first.url);
  const seen = new Set([first.url]);
  const sitemaps: { readonly address: string; readonly depth: number; readonly loaded?: Download }[] = [
    { address: first.url, depth: 0, loaded: first },
  ];
  let isCut = false;
  let elsewhere = 0;
  // Of all sitemaps together: whoever writes them makes a thousand of them as easily as one.
  let left = maxAddresses;
  for (const { address: from, depth, loaded } of sitemaps) {
    let sitemap: Sitemap;
    try {
      sitemap = readSitemap((loaded ?? (await get(from, MAX_SITEMAP_BYTES))).bytes, left);
    } catch (thrown) {
      stopIfAborted(signal);
      yield { kind: "failure", id: from, url: from, error: toSourceError(thrown), isIncomplete: true };
      continue;
    }
    isCut ||= sitemap.isCut;
    left -= sitemap.addresses.length;
    for (const one of sitemap.addresses) {
      const url = URL.parse(one, from);
      if (url === null || seen.has(url.href)) continue;
      seen.add(url.href);
      if (url.host !== host) {
        if (++elsewhere <= MAX_NAMED)
          yield { kind: "failure", id: url.href, url: url.href, error: otherHost() };
      } else if (!sitemap.isIndex) yield url;
      else if (depth < MAX_DEPTH && sitemaps.length < MAX_SITEMAPS)
        sitemaps.push({ address: url.href, depth: depth + 1 });
      else isCut = true;
    }
  }
  if (elsewhere > MAX_NAMED) yield moreElsewhere(first.url, elsewhere - MAX_NAMED);
  if (isCut) yield leftOut(first.url);
}

/** A page, or all pages that a sitemap names on its own host. */
export async function* readWeb(
  address: string,
  options: SourceOptions,
  network: SourceNetwork,
  signal: AbortSignal | undefined,
): AsyncGenerator<SourceItem> {
  const get: Get = (url, maxBytes) =>
    download(url, { privateHosts: network.privateHosts, maxBytes, timeoutMs: options.timeoutMs }, signal);
  const first = await get(address, Math.max(options.maxDocumentBytes, MAX_SITEMAP_BYTES));
  if (!isSitemap(first.bytes, first.url)) {
    if (first.bytes.length > options.maxDocumentBytes)
      throw new LlmcError("file_too_large", `The document is larger than ${options.maxDocumentBytes} bytes.`);
    yield documentOf(address, first);
    return;
  }
  let documents = 0;
  const delivered = new Set<string>();
  for await (const page of pagesOf(first, get, options.maxDocuments + MAX_SITEMAPS, signal)) {
    stopIfAborted(signal);
    if (!(page instanceof URL)) yield page;
    else if (documents++ >= options.maxDocuments) return yield leftOut(first.url);
    else {
      const item = await get(page.href, options.maxDocumentBytes).then(
        (found) => documentOf(page.href, found),
        (thrown: unknown): SourceItem => {
          stopIfAborted(signal);
          return { kind: "failure", id: page.href, url: page.href, error: toSourceError(thrown) };
        },
      );
      // Two addresses that lead to one page are one document.
      const address = item.url ?? page.href;
      if (!delivered.has(address)) yield item;
      delivered.add(address);
    }
  }
}
