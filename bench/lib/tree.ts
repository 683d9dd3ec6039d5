import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import {
  COMMON_METHOD,
  createDice,
  type Dice,
  logLine,
  markdownFile,
  nounOf,
  pythonClass,
  pythonFile,
  typescriptFile,
} from "./tree-text.ts";

/** A project that is the same on every machine, with the things in it that the benchmarks ask for. */
export interface Tree extends AsyncDisposable {
  /** Absolute; the servers' only allowed directory. */
  readonly path: string;
  readonly files: number;
  readonly megabytes: number;
  /** Used in thousands of places. */
  readonly method: string;
  /** Lines that name it. */
  readonly methodUses: number;
  /** A class in a file of another name. */
  readonly class: { readonly name: string; readonly path: string; readonly folder: string };
  /** The only file of its name, deep in the tree. */
  readonly unique: { readonly name: string; readonly path: string };
  /** A source file of some hundreds of lines, with one line in it to be edited. */
  readonly source: { readonly path: string; readonly line: string; readonly edited: string };
  /** About 25,000 tokens. */
  readonly large: string;
  /** 100,000 lines. */
  readonly log: {
    readonly path: string;
    readonly word: string;
    readonly count: number;
    readonly last: string;
  };
  readonly crowded: string;
  /** 5,000. */
  readonly crowdedEntries: number;
}

/** A line that does, once however often. */
const NAMES_METHOD = new RegExp(`^.*${COMMON_METHOD}`, "gm");

const SEED = 20_261_115;
const PYTHON_FILES = 4200;
const TYPESCRIPT_FILES = 2000;
const MARKDOWN_FILES = 1000;
const LARGE_TOKENS = 25_000;
const LOG_LINES = 100_000;
const CROWDED_ENTRIES = 5000;

const ROOT_FILES = [
  ".editorconfig",
  ".flake8",
  ".pre-commit-config.yaml",
  "AUTHORS",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "INSTALL",
  "LICENSE",
  "MANIFEST.in",
  "Makefile",
  "README.md",
  "package.json",
  "pyproject.toml",
  "setup.cfg",
  "tox.ini",
  "tsconfig.json",
];

const LEAVES = [
  "models",
  "views",
  "forms",
  "tasks",
  "admin",
  "signals",
  "managers",
  "handlers",
  "api",
] as const;

/** Most files are small and a few are large, as everywhere: about 6 kB in the middle of the Python ones. */
const sizeOf = (dice: Dice, middle: number): number =>
  Math.round(middle * 2 ** ((dice.below(1000) + dice.below(1000) + dice.below(1000)) / 500 - 3));

/**
 * Short, and the same again and again: a random name would cost peers tokens that a project's name does not. A folder
 * that another run holds is left alone.
 */
const claimFolder = async (): Promise<string> => {
  const parent = await realpath(tmpdir());
  for (let attempt = 1; ; attempt++) {
    const path = join(parent, attempt === 1 ? "shop" : `shop-${attempt}`);
    try {
      await mkdir(path);
      return path;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
};

export const createTree = async (): Promise<Tree> => {
  const path = await claimFolder();
  const dice = createDice(SEED);
  const known = new Set<string>();
  let files = 0;
  let bytes = 0;
  let methodUses = 0;
  const write = (name: string, text: string): void => {
    const file = join(path, name);
    const folder = dirname(file);
    if (!known.has(folder)) mkdirSync(folder, { recursive: true });
    known.add(folder);
    writeFileSync(file, text);
    files++;
    bytes += Buffer.byteLength(text);
    methodUses += text.match(NAMES_METHOD)?.length ?? 0;
  };
  /** A name that no other file of the folder has. */
  const taken = new Set<string>();
  const fresh = (make: () => string): string => {
    for (;;) {
      const name = make();
      if (!taken.has(name) && taken.add(name)) return name;
    }
  };

  for (const name of ROOT_FILES) write(name, markdownFile(dice, 600));
  // A repository to ripgrep, which then heeds .gitignore; what a running program leaves behind is never committed.
  write(".git/HEAD", "ref: refs/heads/main\n");
  write(".gitignore", "/var/\n__pycache__/\n");
  write(".github/workflows/tests.yml", "on: push\njobs: {}\n");
  write("scripts/release.sh", "#!/bin/sh\nset -e\n");

  for (let i = 0; i < PYTHON_FILES; i++) {
    const top = i % 3 === 0 ? "tests" : "shop";
    const name = fresh(() => {
      const leaf = `${top === "tests" ? "test_" : ""}${dice.pick(LEAVES)}${dice.below(2) === 0 ? "" : `_${nounOf(dice)}`}.py`;
      const deep = dice.below(6) === 0 ? `${nounOf(dice, 3)}/` : "";
      return `${top}/${nounOf(dice, 30)}/${nounOf(dice, 12)}/${deep}${leaf}`;
    });
    write(name, pythonFile(dice, sizeOf(dice, 6000)));
  }
  for (let i = 0; i < TYPESCRIPT_FILES; i++) {
    const name = fresh(
      () => `web/src/${nounOf(dice, 20)}/${nounOf(dice, 15)}/${nounOf(dice)}-${nounOf(dice)}.ts`,
    );
    write(name, typescriptFile(dice, sizeOf(dice, 6000)));
  }
  for (let i = 0; i < MARKDOWN_FILES; i++) {
    const name = fresh(() => `docs/${nounOf(dice, 30)}/${nounOf(dice)}-${nounOf(dice)}.md`);
    write(name, markdownFile(dice, sizeOf(dice, 5000)));
  }

  const named = {
    name: "FrozenLedgerSnapshot",
    path: "shop/closing/engine/periods.py",
    folder: "shop/closing",
  };
  write(
    named.path,
    [pythonFile(dice, 3000), pythonClass(dice, named.name, 9), pythonClass(dice), pythonClass(dice)].join(
      "\n",
    ),
  );
  for (const other of ["calendar", "checks", "engine/balances", "engine/runner", "engine/steps", "views"]) {
    write(`${named.folder}/${other}.py`, pythonFile(dice, 9000));
  }

  const unique = {
    name: "quarter_rollover.py",
    path: "shop/warehouse/location/transfer/audit/quarter_rollover.py",
  };
  write(unique.path, pythonFile(dice, 6000));

  const source = {
    path: "shop/payment/gateway/settlement.py",
    line: "    retry_limit = 3  # attempts before a settlement is handed to a person",
    edited: "    retry_limit = 5  # attempts before a settlement is handed to a person",
  };
  const [head = "", ...rest] = pythonFile(dice, 24_000).split(/(?<=:\n)(?= {4}""")/);
  write(source.path, [head, `${source.line}\n`, ...rest].join(""));

  const large = "shop/core/registry.py";
  const pieces: string[] = [];
  for (let tokens = 0; tokens < LARGE_TOKENS; ) {
    const piece = pythonClass(dice);
    pieces.push(piece);
    tokens += countTokens(piece);
  }
  write(large, pieces.join("\n"));

  const lines = Array.from({ length: LOG_LINES }, (_, i) => logLine(dice, i));
  const log = { path: "var/log/server.log", word: "ERROR" };
  write(log.path, `${lines.join("\n")}\n`);

  const crowded = "var/queue";
  for (let i = 1; i <= CROWDED_ENTRIES; i++) {
    write(`${crowded}/job_${String(i).padStart(5, "0")}.json`, `{"id": ${i}, "kind": "${nounOf(dice)}"}\n`);
  }

  return {
    path,
    files,
    megabytes: bytes / 1e6,
    method: COMMON_METHOD,
    methodUses,
    class: named,
    unique,
    source,
    large,
    log: {
      ...log,
      count: lines.filter((line) => line.includes(log.word)).length,
      last: lines.at(-1) ?? "",
    },
    crowded,
    crowdedEntries: CROWDED_ENTRIES,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
};
