import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { EXTRAS } from "../src/base/extras-table.ts";
import { CLIENTS } from "../src/cli/connect/clients.ts";
import { OTHER_ACTIONS } from "../src/core/requests.ts";
import { allTools } from "../src/tools/all.ts";
import { TABLE } from "./walls/table.ts";

const ROOT = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const sources = globSync("src/**/*.ts", { cwd: ROOT });
const names = new Set(sources.map((path) => basename(path)));
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
];

const quoted = (text: string): string[] =>
  [...text.replace(/```[\s\S]*?```/g, "").matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);

/** Examples of the recipes, and what is still to come or made by a command. */
const EXAMPLES = ["src/tools/my-tool.ts", "src/sandbox", "bench/.peers/"];
const exists = (path: string): boolean =>
  [path, join("src", path)].some((one) => existsSync(join(ROOT, one)));

describe("what the pages say about this repository", () => {
  test.each(PAGES)("%s: the files and folders that it names exist", (page) => {
    const paths = quoted(read(page)).filter(
      (name) =>
        /^(src|test|bench|scripts|docs|deploy|bin|assets|schema|base|policy|host|syntax|symbols|retrieve|envelope|core|wiring)\/[\w./-]+$/.test(
          name,
        ) && !EXAMPLES.includes(name),
    );
    expect(paths.filter((path) => !exists(path))).toEqual([]);
  });

  test("ARCHITECTURE: files that are named without their folder exist", () => {
    const bare = quoted(architecture).filter((name) => /^[a-z][\w-]*\.ts$/.test(name));
    expect(bare.length).toBeGreaterThan(8);
    expect(bare.filter((name) => !names.has(name))).toEqual([]);
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
    const told = Object.fromEntries(
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
    expect(told).toEqual(TABLE.mayImport);
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
