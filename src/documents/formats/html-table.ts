/** Elements of HTML by what they mean for the text of a page. */

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(" "));

/** Nothing in them is text that a reader of the page reads. */
export const SKIPPED = setOf(
  "script style template noscript svg math canvas iframe object embed audio video map form select button dialog head",
);

/** Around the content, not part of it; `header` and `aside` inside it are. */
export const AROUND = setOf("nav footer header aside");
export const AROUND_IN_MAIN = setOf("nav footer");

/** They begin and end a line. */
export const BLOCKS = setOf(
  "address article aside blockquote body br center dd details div dl dt fieldset figcaption figure footer header hr html legend li main menu nav ol optgroup option p section summary ul",
);

/** A blank line follows them. */
export const PARAGRAPHS = setOf("blockquote dl figure ol p ul");

/** Ids of these count as those of a heading that comes first in them. */
export const ANCHORED = setOf("a article div main section span");

/** Links that themes put into headings so that readers can copy them. */
export const HEADING_LINK =
  /\b(?:headerlink|header-anchor|heading-anchor|hash-link|anchorjs-link|anchor-link|anchor|toclink|permalink)\b/;
