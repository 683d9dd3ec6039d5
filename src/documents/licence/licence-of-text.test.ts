import { expect, test } from "vitest";
import { licenceOfText, spdxHeader } from "./licence-of-text.ts";
import { isFactFile, readFactFile } from "./manifest.ts";

test.each([
  ["# SPDX-License-Identifier: MIT\ncode", "MIT"],
  [
    "/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */",
    "GPL-2.0-only WITH Linux-syscall-note",
  ],
  ["<!-- SPDX-License-Identifier: (MIT OR Apache-2.0) -->", "(MIT OR Apache-2.0)"],
  ["SPDX-License-Identifier: see the file LICENSE, or ask!", undefined],
  [`${"x".repeat(5000)}SPDX-License-Identifier: MIT`, undefined],
  ["no header", undefined],
])("the header %j names %s", (text, licence) => {
  expect(spdxHeader(text)).toBe(licence);
});

const BSD = "Redistribution and use in source and binary forms, with or without modification, are permitted";

test.each([
  ["Permission is hereby granted, free of charge, to any person obtaining a copy of this software", "MIT"],
  ["                 Apache License\n           Version 2.0, January 2004", "Apache-2.0"],
  [`${BSD}\n Neither the name … may be used to endorse or promote products derived from`, "BSD-3-Clause"],
  [BSD, "BSD-2-Clause"],
  [
    `GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007${" …".repeat(300)} use the GNU Lesser General Public License`,
    "GPL-3.0-only",
  ],
  ["GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1, February 1999", "LGPL-2.1-only"],
  ["Creative Commons Attribution-ShareAlike 4.0 International", "CC-BY-SA-4.0"],
  ["The MIT License (MIT)", "MIT"],
  ["All rights reserved.", undefined],
])("the text %j is that of %s", (text, licence) => {
  expect(licenceOfText(text)).toBe(licence);
});

test.each([
  ["package.json", '{"version":"1.2.3-rc.1","license":"ISC"}', { licence: "ISC", version: "1.2.3-rc.1" }],
  ["package.json", '{"license":{"type":"MIT"},"version":3}', { licence: "MIT", version: undefined }],
  ["package.json", "{", {}],
  [
    "Cargo.toml",
    '[package]\nversion = "0.1.0"\nlicense = "MIT/Apache-2.0"',
    { licence: undefined, version: "0.1.0" },
  ],
  [
    "setup.cfg",
    "[metadata]\nversion = 2.0\nlicense = MIT\n[other]\nversion = 3",
    { licence: "MIT", version: "2.0" },
  ],
  ["VERSION", "v4.5\n", { version: "4.5" }],
])("%s says what its project is: %j", (name, text, facts) => {
  expect(isFactFile(name)).toBe(true);
  expect(readFactFile(name, text)).toEqual(facts);
});

test("FAIL-F5: a manifest is read in the time of its length, whatever stands in place of a licence", () => {
  for (const licence of ["*/".repeat(128_000), "'".repeat(250_000), `MIT${" ".repeat(250_000)}x`]) {
    const text = JSON.stringify({ version: `1${" ".repeat(1000)}`, license: `${licence}\n` });
    expect(readFactFile("package.json", text)).toEqual({ licence: undefined, version: "1" });
  }
});

test("files that say nothing are not read", () => {
  expect(
    ["README.md", "licenses.ts", "constructor", "toString", "COPYING", "LICENCE.txt"].filter(isFactFile),
  ).toEqual(["COPYING", "LICENCE.txt"]);
});
