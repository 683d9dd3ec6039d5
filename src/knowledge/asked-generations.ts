import { LlmcError } from "../base/error.ts";
import { checkCollection, type KnowledgeCaller, mayRead } from "./api/caller.ts";
import type { AnswerRequest, Filters } from "./api/contract.ts";
import { checkName } from "./api/ids.ts";
import { type Catalogue, generationFor, notPromoted } from "./catalogue.ts";
import type { LoadedGenerations } from "./search/loaded-generations.ts";
import type { Collection, Generation } from "./store/contract.ts";

/** Undefined where the collection does not have the requested version. */
export const generationIfAny = (
  collection: Collection,
  filters: Filters | undefined,
): Generation | undefined => {
  try {
    return generationFor(collection, filters);
  } catch (thrown) {
    if (thrown instanceof LlmcError && thrown.code === "resource_not_found") return undefined;
    throw thrown;
  }
};

/** The generation that answers now; undefined where the collection is of another product. */
export const generationAnswering = async (
  loaded: Pick<LoadedGenerations, "answering">,
  collection: Collection,
  filters: Filters | undefined,
): Promise<Generation | undefined> => {
  const found = generationFor(collection, filters);
  // What was named or pinned is what answers, however long it takes to load it.
  const isNamed = filters?.version !== undefined || filters?.semverRange !== undefined;
  return found === undefined || isNamed || collection.pinned !== undefined
    ? found
    : loaded.answering(found, collection);
};

export const isOffered = ({ active, pinned }: Collection): boolean => (pinned ?? active) !== undefined;

/**
 * Where no collection could be searched, that is an error: "not in this knowledge base" would claim that documents
 * were searched.
 */
const nothingToAsk = ([first, ...others]: readonly Collection[]): LlmcError => {
  if (first === undefined)
    return new LlmcError("resource_not_found", "There is no knowledge base in this workspace to ask.", {
      hint: "The operator makes one with: llmc kb create NAME, llmc kb add NAME SOURCE, llmc kb promote NAME",
    });
  if (others.length === 0) return notPromoted(first);
  return new LlmcError("unavailable", "No knowledge base of this workspace has a promoted version yet.", {
    hint: `The operator promotes one with: llmc kb promote ${first.name}`,
    details: { field: "collection" },
  });
};

const nothingFits = (known: readonly Collection[], { product, version, semverRange }: Filters): LlmcError => {
  const asked = version ?? semverRange;
  const what = [product === undefined ? [] : `the product ${product}`, asked ?? []].flat().join(", ");
  return new LlmcError("resource_not_found", `No knowledge base of this workspace has ${what}.`, {
    hint: `Ask without that filter, or see kb_list_collections (${known.length} here).`,
    details: { field: product === undefined ? "filters" : "filters.product" },
  });
};

/** The generations that a question is asked of, at least one: those of all collections, unless it names one. */
export const askedGenerations = async (
  { catalogue, loaded }: { readonly catalogue: Catalogue; readonly loaded: LoadedGenerations },
  filters: AnswerRequest["filters"],
  caller: KnowledgeCaller,
): Promise<readonly Generation[]> => {
  if (filters?.collection !== undefined) {
    const name = checkName(filters.collection);
    checkCollection(caller, name);
    const collection = await catalogue.find(name);
    const generation = await generationAnswering(loaded, collection, filters);
    if (generation === undefined) throw nothingFits([collection], filters);
    return [generation];
  }
  // To a caller, a collection that it may not read does not exist.
  const known = (await catalogue.list()).filter(({ name }) => mayRead(caller, name));
  const open = known.filter(isOffered);
  if (open.length === 0) throw nothingToAsk(known);
  // When several collections are searched, those without the requested version are not.
  const asked = open.filter((collection) => generationIfAny(collection, filters) !== undefined);
  if (asked.length === 0) throw nothingFits(open, filters ?? {});
  const generations = await Promise.all(
    asked.map((collection) => generationAnswering(loaded, collection, filters)),
  );
  return generations.filter((generation) => generation !== undefined);
};
