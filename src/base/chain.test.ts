import fc from "fast-check";
import { expect, test } from "vitest";
import { Chain, ChainLink } from "./chain.ts";

class Named extends ChainLink {
  readonly name: number;
  constructor(name: number) {
    super();
    this.name = name;
  }
}

test("a chain holds what a Set would, in the same order", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 4 })), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (all) => {
      const names = Array.from({ length: 5 }, (_, name) => new Named(name));
      const chain = new Chain<Named>();
      const model = new Set<Named>();
      for (const [joins, i] of all) {
        const member = names[i] ?? new Named(i);
        if (joins) {
          chain.add(member);
          model.add(member);
        } else expect(chain.remove(member)).toBe(model.delete(member));
        expect(chain.members()).toEqual([...model]);
        expect(chain.size).toBe(model.size);
      }
    }),
  );
});

test("members may leave while somebody goes through them", () => {
  const chain = new Chain<Named>();
  for (let i = 0; i < 5; i++) chain.add(new Named(i));
  const seen: number[] = [];
  for (const member of chain.members()) {
    seen.push(member.name);
    for (const other of chain.members()) chain.remove(other);
  }
  expect(seen).toEqual([0, 1, 2, 3, 4]);
  expect(chain.size).toBe(0);
});
