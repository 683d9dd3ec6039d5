import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SYSTEM_CALLS } from "./system-calls.ts";

/** Where Debian's and Red Hat's packages of kernel headers put them; a machine has those of its own kind. */
const HEADERS = [
  { column: 0, files: ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"] },
  { column: 1, files: ["/usr/include/asm-generic/unistd.h"] },
] as const;

/** Names as the headers have them; the generic one writes some of them as macros that depend on the word size. */
const readNumbers = (header: string): ReadonlyMap<string, number> =>
  new Map(
    [...header.matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm)].map(([, name = "", number]) => [
      name === "fstatat" ? "newfstatat" : name,
      Number(number),
    ]),
  );

test.for(HEADERS)("FAIL-H1 the numbers of column $column are the kernel's", ({ column, files }, { skip }) => {
  const file = files.find((path) => existsSync(path));
  if (file === undefined) return skip("the kernel's headers are not installed");
  const numbers = readNumbers(readFileSync(file, "utf8"));
  const newest = Math.max(...numbers.values());
  const wrong = Object.entries(SYSTEM_CALLS).filter(([name, row]) => {
    const number = numbers.get(name);
    // A call may be newer than the header.
    return number === undefined ? row[column] >= 0 && row[column] <= newest : number !== row[column];
  });
  expect(wrong).toEqual([]);
});
