import { describe, expect, test } from "vitest";
import { type BrowserPage, findBrowser, openBrowser } from "./browser.ts";
import { openHttpDoor, TOKEN, UNLIMITED } from "./http-door.ts";

const program = findBrowser();

const FILES = { "a.txt": "first line\n<b>second</b> line\nthird line\n" };

const press = (page: BrowserPage, id: string) => page.evaluate(`document.getElementById("${id}").click()`);
const text = (page: BrowserPage, id: string) =>
  page.evaluate<string>(`document.getElementById("${id}").innerText`);
const choose = (page: BrowserPage, id: string, value: string) =>
  page.evaluate(
    `{ const one = document.getElementById("${id}"); one.value = ${JSON.stringify(value)}; one.dispatchEvent(new Event("change")); }`,
  );
const fill = async (page: BrowserPage, name: string, value: string) => {
  await page.evaluate(`document.querySelector('#fields [name="${name}"]').focus()`);
  await page.type(value);
};
const logIn = async (page: BrowserPage, token: string) => {
  await page.until(`!document.getElementById("login").hidden`);
  await page.evaluate(`document.getElementById("token").focus()`);
  await page.type(token);
  await press(page, "load");
};

/** Where there is no browser, `npm test` says so by skipping this. */
describe.skipIf(program === undefined)("REQ-H1: the page at /docs, in a real browser", () => {
  test("the token is accepted whatever mcp.auth.header is", async () => {
    await using door = await openHttpDoor({ args: [...UNLIMITED, "--set", "mcp.auth.header=X-Other"] });
    await using page = await openBrowser(program ?? "");
    await page.open(`${door.url}/docs`);
    await logIn(page, TOKEN);
    await page.until(`document.getElementById("status").innerText.endsWith(" tools.")`);
  });

  test("says where the token is, makes forms of the schemas, shows answers as text, remembers nothing", async () => {
    await using door = await openHttpDoor({ args: [...UNLIMITED, "--mode", "classic"], files: FILES });
    await using page = await openBrowser(program ?? "");
    await page.open(`${door.url}/docs`);
    await page.until(`document.getElementById("status").innerText.includes("token")`);
    expect(await text(page, "login")).toContain("llmc token prints it");

    await logIn(page, "wrong-token");
    await page.until(
      `document.getElementById("status").innerText.length > 0 && !document.getElementById("status").innerText.includes("Loading")`,
    );
    expect(await page.evaluate("document.getElementById('form').hidden")).toBe(true);
    await logIn(page, TOKEN);
    await page.until(`document.getElementById("status").innerText.endsWith(" tools.")`);

    await choose(page, "tool", "read_file");
    expect(
      await page.evaluate(
        `[...document.querySelectorAll("#fields [name]")].map((one) => [one.name, one.type, one.required])`,
      ),
    ).toEqual(
      expect.arrayContaining([
        ["path", "textarea", true],
        ["limit", "number", false],
      ]),
    );
    await fill(page, "path", "a.txt");
    await fill(page, "limit", "2");
    await press(page, "send");
    await page.until(`document.getElementById("status").innerText.startsWith("200 ")`);
    expect(await text(page, "answer")).toContain("first line\n");
    expect(await text(page, "answer")).toContain("<b>second</b> line");
    expect(await text(page, "answer")).not.toContain("third");
    expect(await page.evaluate(`document.querySelectorAll("#answer *").length`)).toBe(0);

    await choose(page, "tool", "linux_search_content");
    expect(await page.evaluate(`document.querySelector('#fields [name="pattern"]').required`)).toBe(true);

    expect(
      await page.evaluate(
        `[localStorage.length, sessionStorage.length, document.cookie, document.getElementById("token").value, document.documentElement.outerHTML.includes(${JSON.stringify(TOKEN)})]`,
      ),
    ).toEqual([0, 0, "", "", false]);
    await page.open(`${door.url}/docs?again`);
    await page.until(`!document.getElementById("login").hidden`);
    expect(await page.evaluate(`document.getElementById("token").value`)).toBe("");
  });

  test("needs no token where the server needs none", async () => {
    await using door = await openHttpDoor({
      args: [...UNLIMITED, "--set", "mcp.auth.mode=none"],
      files: FILES,
    });
    await using page = await openBrowser(program ?? "");
    await page.open(`${door.url}/docs`);
    await page.until(`document.getElementById("status").innerText.endsWith(" tools.")`);
    expect(await page.evaluate(`document.getElementById("login").hidden`)).toBe(true);
    await choose(page, "operation", "GET /health");
    await press(page, "send");
    await page.until(`document.getElementById("status").innerText.startsWith("200 ")`);
    expect(await text(page, "answer")).toBe("ok: true\nversion: v0");
  });
});
