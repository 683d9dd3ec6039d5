import { describe, expect, test } from "vitest";
import { cpuMs } from "../../../test/cpu-ms.ts";
import { declareAsVar } from "./top-level-names.ts";

describe("REQ-T5: names that are declared again", () => {
  test.each([
    ["const a = 1; let b = 2", "var   a = 1; var b = 2"],
    ["const { a, b } = c;\nlet [d] = e", "var   { a, b } = c;\nvar [d] = e"],
    ["const é = 1", "var   é = 1"],
    ["for (const a of b) { const c = a }", "for (const a of b) { const c = a }"],
    [
      "print('const x = 1'); // let y = 2\nconst z = `\nlet q = 3\n`",
      "print('const x = 1'); // let y = 2\nvar   z = `\nlet q = 3\n`",
    ],
    ['/* const a */ const b = /[{"]const c/.test(d)', '/* const a */ var   b = /[{"]const c/.test(d)'],
    ["const a = /[/'{]/; const b = x => /'/", "var   a = /[/'{]/; var   b = x => /'/"],
    ["let a; let b", "var a=undefined; var b=undefined"],
    ["let ab, c = f(d, e), g // x\nh, i", "var ab=undefined, c = f(d, e), g=undefined // x\nh, i"],
    ["let a /* b */\n= 1; let c,\n d\nc, d", "var a /* b */\n= 1; var c=undefined,\n d=undefined\nc, d"],
    ["const a = 1, b = 2\nb, a; c, d", "var   a = 1, b = 2\nb, a; c, d"],
    ["x = a + /'/; const b = 1", "x = a + /'/; var   b = 1"],
    ["x = a > /'/ - /'/ * /'/ % /'/; const b = 1", "x = a > /'/ - /'/ * /'/ % /'/; var   b = 1"],
    ["x++ / 2; const b = '/'; y-- / 1", "x++ / 2; var   b = '/'; y-- / 1"],
    ["a.let = 1; constant = 2; letter = 3", "a.let = 1; constant = 2; letter = 3"],
    [
      "const f = () => { let g = 1; return g / 2 / 3 }; const h = 1",
      "var   f = () => { let g = 1; return g / 2 / 3 }; var   h = 1",
    ],
    [
      "x = `\u0024{y ? `it's` : '`'}\nconst a = 1\n`; const b = 2",
      "x = `\u0024{y ? `it's` : '`'}\nconst a = 1\n`; var   b = 2",
    ],
    ["class A { m() {} }\n(1)", "A=class { m() {} };void 0;\n(1)"],
    ["f()\nclass  B extends A{}", "f()\nB=class  extends A{};void 0;"],
    ["x = class A {}; y =\nclass B {}", "x = class A {}; y =\nclass B {}"],
    ["'use strict'; class A {}", "'use strict'; class A {}"],
  ])("%j", (code, expected) => {
    expect(declareAsVar(code)).toBe(expected);
  });

  test("hostile programs take linear time", () => {
    const read = (): void => {
      for (const part of ["/*", "`", "`\u0024{", "'\\", "/", "const ", "class a ", "{", " ", "[/"])
        declareAsVar(part.repeat(30_000));
    };
    expect(cpuMs(read)).toBeLessThan(2000);
  });
});
