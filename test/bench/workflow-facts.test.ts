import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Tree } from "../../bench/lib/tree.ts";
import {
  CLASS_LINES,
  expectAllNames,
  expectClass,
  expectDetails,
  expectEdit,
  expectFile,
  expectFirstNames,
  expectRoot,
  expectTail,
  expectTotal,
  expectUses,
  expectWhole,
  TAIL,
  usesIn,
} from "../../bench/lib/workflow-facts.ts";
import { tempWorkspace } from "../app.ts";

const numbered = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `${line(i + 1)}\n`).join("");

const jobs = (count: number): string => numbered(count, (i) => `job_${String(i).padStart(5, "0")}.json`);

/** The facts of a tree in small. */
const plant = (): Tree => {
  const path = tempWorkspace({
    "README.md": "hello\n",
    "shop/a.py": `import x\n\nclass Wanted(Base):\n${numbered(80, (i) => `    field_${i} = ${i}`)}`,
    "shop/b.py": "a.refresh()\nb.other()\nc.refresh()\n",
    "shop/c.py": "limit = 3\n",
    "var/log": numbered(500, (i) => `line ${i}`),
  });
  return {
    path,
    files: 5,
    megabytes: 0,
    method: "refresh",
    methodUses: 2,
    class: { name: "Wanted", path: "shop/a.py", folder: "shop" },
    unique: { name: "c.py", path: "shop/c.py" },
    source: { path: "shop/c.py", line: "limit = 3", edited: "limit = 5" },
    large: "shop/a.py",
    log: { path: "var/log", word: "line", count: 500, last: "line 500" },
    crowded: "var/queue",
    crowdedEntries: 5000,
    [Symbol.asyncDispose]: async () => {},
  };
};

const refused = async (check: () => Promise<void> | void): Promise<void> => {
  await expect((async () => check())()).rejects.toThrow("A workflow did not get");
};

describe("a workflow is only counted with an answer that holds what it is about", () => {
  test("the root, and its details", async () => {
    const tree = plant();
    await expectRoot("README.md\nshop/\nvar/\n", tree);
    await expectRoot("[FILE] README.md\n[DIR] shop\n[DIR] var", tree);
    await refused(() => expectRoot("README.md\nshop/\n", tree));
    const minuteOf = (name: string): string =>
      statSync(join(tree.path, name)).mtime.toTimeString().slice(0, 5);
    const details = (size: number): string =>
      `README.md ${size} Nov 16 ${minuteOf("README.md")}\nshop/ Nov 16 ${minuteOf("shop")}\nvar/ Nov 16 ${minuteOf("var")}`;
    await expectDetails(details(6), tree);
    await refused(() => expectDetails(details(7), tree));
  });

  test("lines of a class, the end of a log, a whole file: without gaps", async () => {
    const tree = plant();
    const lines = (file: string) => readFileSync(join(tree.path, file), "utf8").split("\n");
    const wanted = lines("shop/a.py").slice(2, 2 + CLASS_LINES);
    await expectClass(`[60 lines]\n${wanted.join("\n")}`, tree);
    await refused(() => expectClass(wanted.toSpliced(30, 1).join("\n"), tree));
    const last = lines("var/log").slice(-TAIL - 1, -1);
    await expectTail(last.join("\n"), tree);
    await refused(() => expectTail(last.toSpliced(50, 1, "[left out]").join("\n"), tree));
    await expectWhole(lines("shop/a.py").join("\n"), tree, "shop/a.py");
    await refused(() => expectWhole(lines("shop/a.py").slice(0, -3).join("\n"), tree, "shop/a.py"));
  });

  test("uses are looked up in the files; numbers are whole numbers", async () => {
    const tree = plant();
    const form = /^([^\s:]+):(\d+):/gm;
    await expectUses(usesIn("shop/b.py:1:a.refresh()\nshop/b.py:3:c.refresh()\n", form), 2, tree);
    await refused(() =>
      expectUses(usesIn("shop/b.py:1:a.refresh()\nshop/b.py:1:a.refresh()\n", form), 2, tree),
    );
    await refused(() => expectUses(usesIn("shop/b.py:2:a.refresh()\n", form), 1, tree));
    expectTotal("[31 matches in 2 files]", 31);
    await refused(() => expectTotal("1310 matches", 31));
  });

  test("names, a found file, an edit on the disk", async () => {
    const tree = plant();
    expectFirstNames(`${jobs(300)}[300 of 5000 names]`, tree);
    await refused(() => expectFirstNames(jobs(300), tree));
    await refused(() => expectFirstNames("[1 of 5000 names]", tree));
    expectAllNames(jobs(5000), tree);
    await refused(() => expectAllNames(jobs(4999), tree));
    expectFile("./shop/c.py", tree);
    await refused(() => expectFile("c.py", tree));
    await refused(() => expectEdit(tree));
    writeFileSync(join(tree.path, "shop/c.py"), "limit = 5\n");
    await expectEdit(tree);
  });
});
