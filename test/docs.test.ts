import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { EXTRAS } from "../src/base/extras-table.ts";
import { CLIENTS } from "../src/cli/connect/clients.ts";
import { OTHER_ACTIONS } from "../src/core/requests.ts";
import { allTools } from "../src/tools/all.ts";
import { TABLE, WIRING } from "./walls/table.ts";

const ROOT = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const sources = globSync("src/**/*.ts", { cwd: ROOT });
const architecture = read("ARCHITECTURE.md");
const manifest = JSON.parse(read("package.json")) as Record<string, Record<string, string>>;

/** Pages that speak of this repository's own files. Decisions are frozen and may name files that are gone. */
const PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "SECURITY.md",
  "AGENTS.md",
  "CONTRIBUTING.md",
  "bench/README.md",
  ...globSync("docs/{*,guides/*}.md", { cwd: ROOT }),
];

/** Pages whose file names are all ours; guides speak of other projects' files, too. */
const ABOUT_CODE = ["ARCHITECTURE.md", "docs/how-a-command-runs.md"];

const quoted = (text: string): string[] =>
  [...text.replace(/```[\s\S]*?```/g, "").matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);

/** Examples of the recipes, and what a command makes. */
const EXAMPLES = ["src/tools/my-tool.ts", "bench/.peers/"];
/** Methods of the protocol look like paths. */
const METHODS = /^(?:tools|prompts|resources)\/(?:list|call|get|read|subscribe)$/;
/** Folders at the top, and rooms, which pages name without `src/`. */
const TOPS = ["src", "test", "bench", "scripts", "docs", "deploy", "bin", "assets", "schema", WIRING];
const OWN_PATH = new RegExp(`^(${[...TOPS, ...Object.keys(TABLE.mayImport)].join("|")})/[\\w./-]+$`);
const exists = (path: string): boolean =>
  [path, join("src", path)].some((one) => existsSync(join(ROOT, one)));

describe("what the pages say about this repository", () => {
  test.each(PAGES)("%s: the files and folders that it names exist", (page) => {
    const paths = quoted(read(page)).filter(
      (name) => OWN_PATH.test(name) && !METHODS.test(name) && !EXAMPLES.includes(name),
    );
    expect(paths.filter((path) => !exists(path))).toEqual([]);
  });

  test.each(ABOUT_CODE)("%s: files that are named without their room exist", (page) => {
    const bare = quoted(read(page)).filter((name) => /^[a-z][\w/-]*\.ts$/.test(name) && !OWN_PATH.test(name));
    expect(bare.length).toBeGreaterThan(8);
    expect(bare.filter((name) => !sources.some((path) => path.endsWith(`/${name}`)))).toEqual([]);
  });

  test("the pages' links to other pages lead somewhere", () => {
    const pages = [...PAGES, ...globSync("docs/**/*.md", { cwd: ROOT })];
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = ""]) => join(page, "..", target))
        .filter((target) => !existsSync(join(ROOT, target)))
        .map((target) => `${page} links to ${target}`),
    );
    expect(broken).toEqual([]);
  });
});

describe("ARCHITECTURE's table of rooms", () => {
  const rows = architecture
    .split("\n")
    .filter((line) => line.startsWith("| `src/"))
    .flatMap((line) => {
      const [rooms = "", contents = "", mayImport = ""] = line.replace(/^\| | \|$/g, "").split(" | ");
      return [...rooms.matchAll(/`src\/([a-z]+)`/g)].map(([, room = ""]) => ({ room, contents, mayImport }));
    });

  test("has every room, with the imports that the wall allows", () => {
    const documented = Object.fromEntries(
      rows
        .filter(({ room }) => room !== "wiring")
        .map(({ room, mayImport }) => [
          room,
          mayImport
            .replace(/;.*/, "")
            .split(/, /)
            .map((name) => name.trim())
            .filter((name) => name !== "–"),
        ]),
    );
    expect(documented).toEqual(TABLE.mayImport);
  });

  test("names folders and files that are in the room", () => {
    const missing = rows.flatMap(({ room, contents }) =>
      quoted(contents)
        .filter((name) => /^[a-z-]+(\/|\.ts)$/.test(name))
        .filter((name) => globSync(`src/${room}/**/${name.replace(/\/$/, "")}`, { cwd: ROOT }).length === 0)
        .map((name) => `src/${room}: ${name}`),
    );
    expect(missing).toEqual([]);
  });
});

test("ARCHITECTURE gives a reason for every dependency and every extra", () => {
  const wanted = Object.keys({ ...manifest["dependencies"], ...manifest["peerDependencies"] });
  const section = architecture.slice(
    architecture.indexOf("## Dependencies"),
    architecture.indexOf("## To add"),
  );
  expect(wanted.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});

test("REQ-D26: pages name no tools that do not exist", () => {
  const tools = new Set([...allTools, ...OTHER_ACTIONS].map(({ name }) => name));
  const isTool =
    /^(?:linux_(?:fs|proc|search|sys|handle)|rag|repo|kb|admin|rlm|te|symbol|memory)_[a-z_]+$|^execute_code$/;
  const pages = ["README.md", ...globSync("docs/{guides,reference}/*.md", { cwd: ROOT })];
  const unknown = pages.flatMap((page) =>
    quoted(read(page))
      .filter((name) => isTool.test(name) && !tools.has(name))
      .map((name) => `${page}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

test("REQ-P3: the guide has a row for every client", () => {
  const guide = read("docs/guides/connect.md");
  expect(CLIENTS.map(({ name }) => name).filter((name) => !guide.includes(`| \`${name}\` |`))).toEqual([]);
});

test("guides name the command of every extra, or doctor, which does", () => {
  const guides = globSync("docs/guides/*.md", { cwd: ROOT }).map(read).join("\n");
  const silent = Object.values(EXTRAS).filter(
    ({ packages }) => packages.length === 1 && !guides.includes(`npm install -g ${packages[0]}`),
  );
  expect(silent).toEqual([]);
});
