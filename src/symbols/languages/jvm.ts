import type { Family } from "../project/family.ts";
import { isOwnNamespace } from "./namespaces.ts";

/** Java, Kotlin, Scala and Groovy name each other's classes. */
export const jvm: Family = {
  name: "jvm",
  reach: "package",
  hidesWildcards: true,
  isOwnSource: (files, source) => isOwnNamespace(jvm, files, source),
};
