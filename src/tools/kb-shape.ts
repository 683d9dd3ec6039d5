import { z } from "zod";
import { quoteName } from "../base/quote-document.ts";
import type { Citation, Filters } from "../knowledge/api/contract.ts";

const MAX_QUERY_CHARS = 10_000;

export const queryInput = z.string().trim().min(1).max(MAX_QUERY_CHARS);

const filterShape = {
  product: z.string().max(200).optional(),
  version: z.string().max(100).optional(),
  semverRange: z.string().max(256).optional(),
};

export const filtersInput = z.strictObject(filterShape).optional();
export const answerFiltersInput = z
  .strictObject({ collection: z.string().max(64).optional(), ...filterShape })
  .optional();

export const citationShape = z.object({
  title: z.string(),
  anchor: z.string().optional(),
  url: z.string().optional(),
  license: z.string().optional(),
  version: z.string().optional(),
});

/** Without the keys that are not set: a schema tells them apart from those that are undefined. */
export const definedOf = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, held]) => held !== undefined)) as T;

export const toFilters = (filters: Filters | undefined): Filters | undefined =>
  filters === undefined ? undefined : definedOf(filters);

export const toCitation = (citation: Citation): Citation => definedOf({ ...citation });

/** The signs of a citation, and of the id that follows it in a hit. */
const SIGNS = /["();@]/;

/** What a document chose: in quotes, as JSON, where it has such a sign, so that it never looks like the rest of the citation. */
const asPart = (text: string): string => (SIGNS.test(text) ? JSON.stringify(text) : text);

/** `Title (docs/install.md#L10-L20; MIT; 1.2.0)`, in one line, whatever the document calls itself. */
export const renderCitation = ({ title, anchor, url, license, version }: Citation): string => {
  const facts = [url ?? anchor, license, version].filter((fact) => fact !== undefined).map(asPart);
  return quoteName(facts.length === 0 ? asPart(title) : `${asPart(title)} (${facts.join("; ")})`);
};
