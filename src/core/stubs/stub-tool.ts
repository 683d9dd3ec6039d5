import type { StubField, StubType } from "./schema-type.ts";

/** A tool as stubs describe it. */
export interface StubTool {
  readonly name: string;
  readonly description: string;
  readonly input: readonly StubField[];
  readonly output: StubType;
}

/**
 * Tools by family: the first two parts of the name where several tools share them, else the first, else "general".
 * Generated, so that tools of custom modules are grouped like ours.
 */
export const byFamily = <T extends { readonly name: string }>(
  tools: readonly T[],
): ReadonlyMap<string, readonly T[]> => {
  const prefix = (name: string, parts: number): string => name.split("_").slice(0, parts).join("_");
  const count = (parts: number): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const { name } of tools)
      if (name.split("_").length > parts)
        counts.set(prefix(name, parts), (counts.get(prefix(name, parts)) ?? 0) + 1);
    return counts;
  };
  const [ones, twos] = [count(1), count(2)];
  const familyOf = (name: string): string => {
    if ((twos.get(prefix(name, 2)) ?? 0) > 1) return prefix(name, 2);
    if ((ones.get(prefix(name, 1)) ?? 0) > 1 && /^[a-z]\w*$/i.test(prefix(name, 1))) return prefix(name, 1);
    return "general";
  };
  const families = new Map<string, T[]>();
  for (const tool of tools) {
    const family = familyOf(tool.name);
    families.set(family, [...(families.get(family) ?? []), tool]);
  }
  return families;
};
