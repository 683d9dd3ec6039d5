/** Text that looks like a project's: Python, TypeScript and prose, of one small vocabulary, as real projects have. */

export interface Dice {
  /** A whole number below the bound. */
  below(bound: number): number;
  pick<T>(from: readonly T[]): T;
}

/** mulberry32: small, fast, and the same on every machine. */
export const createDice = (seed: number): Dice => {
  let state = seed >>> 0;
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
  const pick = <T>(from: readonly T[]): T => {
    const picked = from[below(from.length)];
    if (picked === undefined) throw new Error("there is nothing to pick from");
    return picked;
  };
  return { below, pick };
};

const split = (text: string): readonly string[] => text.trim().split(/\s+/);

const NOUNS = split(`
  account address basket batch branch bucket campaign carrier catalog category channel charge client
  coupon courier currency customer delivery discount document entry event extract feature filter gateway
  gift handler intake invoice item journal ledger label limit listing location market member message
  metric notice offer option order package partner payment period policy price product profile promotion
  quote rate receipt record refund region report request review route rule schedule section segment
  session shipment signal source stock store summary supplier tariff task template tenant ticket tier
  tracking transfer trigger update vendor voucher wallet warehouse webhook window zone
`);

const VERBS = split(`
  accept add apply archive assign attach build cancel check clear close collect compare compute confirm
  convert copy count create deliver detach disable enable expire fetch find freeze get hold join list load
  lock lookup mark merge move notify open pack parse post prepare publish queue read rebuild refresh
  release remove render reset resolve restore retry save schedule send set sort split start stop store
  sync track transfer unlock update validate verify write
`);

const KINDS = [
  "Service",
  "Manager",
  "Repository",
  "Policy",
  "Adapter",
  "Resolver",
  "Form",
  "View",
  "Task",
  "Error",
] as const;

/** The method that is used all over the project. */
export const COMMON_METHOD = "refresh_from_store";

const capital = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

/** One of the first so many: a project has fewer folders than words. */
export const nounOf = (dice: Dice, among = NOUNS.length): string => dice.pick(NOUNS.slice(0, among));

const className = (dice: Dice): string =>
  `${capital(dice.pick(NOUNS))}${capital(dice.pick(NOUNS))}${dice.pick(KINDS)}`;

const methodName = (dice: Dice): string =>
  dice.below(80) === 0 ? COMMON_METHOD : `${dice.pick(VERBS)}_${dice.pick(NOUNS)}`;

const sentence = (dice: Dice): string => {
  const split = Array.from({ length: 8 + dice.below(9) }, (_, i) =>
    dice.pick(i % 3 === 0 ? VERBS : i % 3 === 1 ? ["the", "a", "each", "every", "its", "no"] : NOUNS),
  );
  return `${capital(split.join(" "))}.`;
};

const pythonStatement = (dice: Dice): string => {
  const [a, b] = [dice.pick(NOUNS), dice.pick(NOUNS)];
  switch (dice.below(8)) {
    case 0:
      return `        ${a} = self.${methodName(dice)}(${b}, limit=${dice.below(500)})`;
    case 1:
      return `        if ${a}.${dice.pick(NOUNS)} is None:\n            raise ${className(dice)}("${a} has no ${b}")`;
    case 2:
      return `        for ${a} in self.${b}_set.filter(${dice.pick(NOUNS)}_id=${a}_id):\n            ${a}.${methodName(dice)}()`;
    case 3:
      return `        # ${sentence(dice)}`;
    case 4:
      return `        logger.info("%s %s of ${b}", ${a}.pk, self.${b})`;
    case 5:
      return `        self.${a}.${methodName(dice)}(using=self.db, ${b}=${b})`;
    case 6:
      return `        ${a}_${b} = {"${a}": ${b}, "${b}": ${dice.below(10_000)}}`;
    default:
      return `        with self.${a}.locked(${b}):\n            ${b} = self.${methodName(dice)}(${a})`;
  }
};

const pythonMethod = (dice: Dice): string =>
  [
    `    def ${methodName(dice)}(self, ${dice.pick(NOUNS)}=None, *, ${dice.pick(NOUNS)}_id=0):`,
    ...(dice.below(2) === 0 ? [`        """${sentence(dice)}"""`] : []),
    ...Array.from({ length: 2 + dice.below(9) }, () => pythonStatement(dice)),
    `        return ${dice.pick(NOUNS)}`,
    "",
  ].join("\n");

export const pythonClass = (dice: Dice, name = className(dice), methods = 2 + dice.below(6)): string =>
  [
    `class ${name}(Base${dice.pick(KINDS)}):`,
    `    """${sentence(dice)}"""`,
    "",
    `    ${dice.pick(NOUNS)} = ${dice.below(100)}`,
    "",
    ...Array.from({ length: methods }, () => pythonMethod(dice)),
    "",
  ].join("\n");

const pythonHead = (dice: Dice): string =>
  [
    `"""${sentence(dice)}"""`,
    "",
    "import logging",
    ...Array.from(
      { length: 2 + dice.below(6) },
      () => `from shop.${dice.pick(NOUNS)}.${dice.pick(NOUNS)} import ${className(dice)}`,
    ),
    "",
    "logger = logging.getLogger(__name__)",
    "",
    "",
  ].join("\n");

const grow = (head: string, chars: number, piece: () => string): string => {
  const pieces = [head];
  for (let length = head.length; length < chars; ) {
    const next = piece();
    pieces.push(next);
    length += next.length + 1;
  }
  return pieces.join("\n");
};

export const pythonFile = (dice: Dice, chars: number): string =>
  grow(pythonHead(dice), chars, () => pythonClass(dice));

const camel = (snake: string): string => snake.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const typescriptPiece = (dice: Dice): string => {
  const [a, b] = [dice.pick(NOUNS), dice.pick(NOUNS)];
  const name = className(dice);
  return [
    `export interface ${name}Props {`,
    `  readonly ${a}: string;`,
    `  readonly ${b}Count: number;`,
    "}",
    "",
    `/** ${sentence(dice)} */`,
    `export const ${camel(methodName(dice))} = async (${a}: ${name}Props): Promise<number> => {`,
    ...Array.from({ length: 2 + dice.below(7) }, () => {
      const [c, d] = [dice.pick(NOUNS), dice.pick(NOUNS)];
      return dice.below(2) === 0
        ? `  const ${c} = await ${d}.${camel(methodName(dice))}(${a}.${a}, ${dice.below(100)});`
        : `  if (${a}.${b}Count > ${dice.below(1000)}) ${d}.${camel(methodName(dice))}();`;
    }),
    `  return ${a}.${b}Count;`,
    "};",
    "",
  ].join("\n");
};

export const typescriptFile = (dice: Dice, chars: number): string =>
  grow(
    Array.from(
      { length: 2 + dice.below(5) },
      () => `import { ${className(dice)} } from "../${dice.pick(NOUNS)}/${dice.pick(NOUNS)}";`,
    ).join("\n"),
    chars,
    () => typescriptPiece(dice),
  );

export const markdownFile = (dice: Dice, chars: number): string =>
  grow(`# ${capital(dice.pick(NOUNS))} and ${dice.pick(NOUNS)}\n`, chars, () =>
    [
      `## ${capital(dice.pick(VERBS))} the ${dice.pick(NOUNS)}\n`,
      ...Array.from({ length: 2 + dice.below(4) }, () => `${sentence(dice)} ${sentence(dice)}`),
      "",
      `    ${dice.pick(NOUNS)}.${methodName(dice)}(${dice.pick(NOUNS)})`,
      "",
    ].join("\n"),
  );

export const logLine = (dice: Dice, second: number): string => {
  const at = new Date(Date.UTC(2026, 2, 14) + second * 1000).toISOString();
  const level = dice.below(50) === 0 ? "ERROR" : dice.below(8) === 0 ? "WARN" : "INFO";
  return `${at} ${level} shop.${dice.pick(NOUNS)} ${dice.pick(VERBS)}_${dice.pick(NOUNS)} id=${dice.below(1_000_000)} took ${dice.below(900)} ms`;
};
