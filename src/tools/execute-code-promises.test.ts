import { describe, expect, test } from "vitest";
import { shareTestApp } from "../../test/app.ts";

interface Data {
  readonly result?: unknown;
  readonly error?: Readonly<Record<string, unknown>>;
}

/** Programs as models write them: a main function, called in the last line. */
describe("REQ-T5 no outcome of a program is lost", () => {
  const app = shareTestApp({ files: { "a.txt": "one\n", "b.txt": "two\n" } });
  const run = async (language: string, code: string): Promise<Data> => {
    const answer = await app().ask("execute_code", { language, code });
    if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
    return (answer.structured as { readonly data: Data }).data;
  };

  test.each([
    ["javascript", "const main = async () => (await tools.read_file({ path: 'a.txt' })).data\nmain()"],
    ["javascript", "tools.read_file({ path: 'a.txt' }).then(({ data }) => data)"],
    ["python", "async def main():\n    return (await tools.read_file(path='a.txt'))['data']\nmain()"],
    [
      "python",
      "import asyncio\nasync def main():\n    return (await tools.read_file(path='a.txt'))['data']\nasyncio.run(main())",
    ],
    [
      "python",
      "import asyncio\nasync def main():\n    return (await tools.read_file(path='a.txt'))['data']\nif __name__ == '__main__':\n    found = asyncio.get_event_loop().run_until_complete(main())\nfound",
    ],
  ])("a promise in the place of the result is awaited (%s: %s)", async (language, code) => {
    expect(await run(language, code)).toMatchObject({ result: "one\n" });
  });

  test.each([
    ["x = tools.read_file(path='a.txt')\nprint(x)", true],
    ["[[tools.read_file(path='a.txt')]]", true],
    ["print(await tools.read_file(path='a.txt'))", false],
    ["print('<PyodideFuture pending cb=[]>')", false],
  ])(
    "a call that is shown without its result says that it has to be awaited: %s: %s",
    async (code, hasHint) => {
      const text = await app().text("execute_code", { language: "python", code });
      if (hasHint) expect(text).toContain("[A tool call has to be awaited: `await tools.NAME(...)`.]");
      else expect(text).not.toContain("has to be awaited");
    },
  );

  test("so are the promises in a list", async () => {
    const code = "['a.txt', 'b.txt'].map(async (path) => (await tools.read_file({ path })).data)";
    expect(await run("javascript", code)).toMatchObject({ result: ["one\n", "two\n"] });
  });

  test.each([
    ["javascript", "(async () => { throw new Error('lost') })()", "lost"],
    [
      "javascript",
      "const main = async () => { await tools.read_file({ path: 'nope' }); return 1 }\nmain()",
      "nope",
    ],
    [
      "python",
      "import asyncio\nasync def main():\n    await tools.read_file(path='nope')\nasyncio.run(main())",
      "nope",
    ],
    [
      "python",
      "import asyncio\nasync def main():\n    raise ValueError('lost')\nasyncio.ensure_future(main())\nawait asyncio.sleep(0.01)\n1",
      "lost",
    ],
  ])("its failure is that of the program (%s: %s)", async (language, code, message) => {
    expect((await run(language, code)).error).toMatchObject({ message: expect.stringContaining(message) });
  });
});
