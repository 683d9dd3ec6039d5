import { LlmcError } from "../base/error.ts";
import type { Filters } from "./api/contract.ts";
import { noCollection } from "./store/collections-queries.ts";
import type { Collection, Generation, Store } from "./store/contract.ts";
import { compileRange } from "./versions/semver.ts";

/** What is known of collections, read again only after something has changed. */
export const createCatalogue = (store: Store) => {
  let known: { readonly revision: string; readonly collections: readonly Collection[] } | undefined;
  const list = async (): Promise<readonly Collection[]> => {
    const revision = await store.revision();
    if (known?.revision !== revision) known = { revision, collections: await store.collections() };
    return known.collections;
  };
  return {
    list,
    find: async (name: string): Promise<Collection> => {
      const found = (await list()).find((one) => one.name === name);
      if (found === undefined) throw noCollection(name);
      return found;
    },
  };
};

export type Catalogue = ReturnType<typeof createCatalogue>;

export const notPromoted = ({ name }: Collection): LlmcError =>
  new LlmcError("unavailable", `The knowledge base ${name} has no promoted version yet.`, {
    hint: `The operator promotes one with: llmc kb promote ${name}`,
    // About the one that was named: the store is well.
    details: { field: "collection" },
  });

export const versionNotPromoted = (name: string, version: string): LlmcError =>
  new LlmcError(
    "resource_not_found",
    `Version ${version} of the knowledge base ${name} is not promoted yet.`,
    {
      hint: `The operator promotes it with: llmc kb promote ${name} ${version}`,
    },
  );

const noVersion = ({ name, generations }: Collection, asked: string): LlmcError => {
  const sealed = generations.filter(({ state }) => state === "sealed").map(({ version }) => version);
  if (generations.some(({ version, state }) => version === asked && state !== "sealed"))
    return versionNotPromoted(name, asked);
  return new LlmcError("resource_not_found", `The knowledge base ${name} has no version ${asked}.`, {
    hint:
      sealed.length === 0 ? "It has no promoted version yet." : `It has ${sealed.slice(0, 10).join(", ")}.`,
  });
};

/** Only promoted generations are offered: all others may still change. */
const sealedOf = ({ generations }: Collection): readonly Generation[] =>
  generations.filter(({ state }) => state === "sealed");

/**
 * The one generation that a query searches, decided before anything is searched: the named version, the newest of a
 * range, the pinned one, or the active one. Undefined where the collection is of another product.
 */
export const generationFor = (collection: Collection, filters: Filters = {}): Generation | undefined => {
  const { product, version, semverRange } = filters;
  if (product !== undefined && product.toLowerCase() !== collection.product.toLowerCase()) return undefined;
  const isInRange = semverRange === undefined ? () => true : compileRange(semverRange);
  const sealed = sealedOf(collection);
  if (version !== undefined) {
    const asked = version.replace(/^v/, "");
    const found = sealed.find((one) => one.version === asked);
    if (found === undefined || !isInRange(found.version)) throw noVersion(collection, asked);
    return found;
  }
  if (semverRange !== undefined) {
    const found = sealed.find((one) => isInRange(one.version));
    if (found === undefined) throw noVersion(collection, semverRange);
    return found;
  }
  const usual = collection.pinned ?? collection.active;
  const found = sealed.find((one) => one.version === usual);
  if (found === undefined) throw notPromoted(collection);
  return found;
};
