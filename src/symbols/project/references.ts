import type { Reference, ReferenceKind } from "../extract/file-symbols.ts";
import { REFERENCE_KINDS } from "../extract/pack.ts";

/** Numbers of one reference: name, via, line, inside, and target with kind. */
export const STRIDE = 5;

export const INHERIT = REFERENCE_KINDS.indexOf("inherit");

export interface ReferenceRow {
  readonly name: string;
  readonly via: string;
  readonly kind: ReferenceKind;
  readonly line: number;
  readonly inside: number;
  readonly target: number;
}

/** References as numbers, and the strings that the numbers stand for: one store for a whole project. */
export const createReferences = () => {
  const numbers = new Map<string, number>();
  const strings: string[] = [];
  const intern = (text: string): number => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, strings.length);
    strings.push(text);
    return strings.length - 1;
  };
  const stringAt = (number: number | undefined): string => strings[number ?? 0] ?? "";
  return {
    /** Number of a string; -1 where no reference has it. */
    numberOf: (text: string): number => numbers.get(text) ?? -1,
    pack: (references: readonly Reference[]): Int32Array => {
      const packed = new Int32Array(references.length * STRIDE);
      let at = 0;
      for (const { name, via, line, inside, target, kind } of references) {
        packed[at++] = intern(name);
        packed[at++] = intern(via);
        packed[at++] = line;
        packed[at++] = inside;
        packed[at++] = target * 8 + REFERENCE_KINDS.indexOf(kind);
      }
      return packed;
    },
    row: (packed: Int32Array, at: number): ReferenceRow => {
      const last = packed[at + 4] ?? 0;
      return {
        name: stringAt(packed[at]),
        via: stringAt(packed[at + 1]),
        line: packed[at + 2] ?? 0,
        inside: packed[at + 3] ?? -1,
        target: last >> 3,
        kind: REFERENCE_KINDS[last & 7] ?? "read",
      };
    },
    namesIn: (packed: Int32Array): Set<string> => {
      const names = new Set<string>();
      for (let at = 0; at < packed.length; at += STRIDE) names.add(stringAt(packed[at]));
      return names;
    },
  };
};
