import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHttpDoor, UNLIMITED } from "../doors/http-door.ts";
import { connectVersion1, connectVersion2, type Peer } from "./peers.ts";

type Answer = ReturnType<NonNullable<Parameters<typeof connectVersion1>[2]>>;
type Connect = (url: URL, answer: (message: string) => Answer) => Promise<Peer>;

const PEERS: readonly { readonly library: string; readonly revision: string; readonly connect: Connect }[] = [
  { library: "1.x", revision: "2025-11-25", connect: (url, answer) => connectVersion1(url, {}, answer) },
  {
    library: "2.x",
    revision: "2025-11-25",
    connect: (url, answer) => connectVersion2(url, "legacy", {}, answer),
  },
  {
    library: "2.x",
    revision: "2026-07-28",
    connect: (url, answer) => connectVersion2(url, "modern", {}, answer),
  },
];

describe.each(PEERS)("REQ-I5: the user of a $library client of $revision", ({ connect }) => {
  let door: Awaited<ReturnType<typeof openHttpDoor>>;
  beforeAll(async () => {
    door = await openHttpDoor({ args: ["--set", "mcp.auth.mode=none", ...UNLIMITED] });
  });
  afterAll(() => door[Symbol.asyncDispose]());

  /** Runs a program that is not on the list, once for each answer, as one client. */
  const run = async (program: string, answers: readonly Answer[]) => {
    const shown: string[] = [];
    const peer = await connect(new URL(`${door.url}/mcp`), (message) => {
      shown.push(message);
      return answers[shown.length - 1] ?? { action: "decline" };
    });
    const results: string[] = [];
    for (let at = 0; at <= answers.length; at++)
      results.push(await peer.call("run_cmd", { command: `${program} --version` }));
    await peer.close();
    return { shown, results };
  };

  const refused = expect.stringContaining("is not among the programs that may be run");
  const ran = expect.stringContaining("coreutils");
  // Without a token, sessions over HTTP share one owner, so each case has a program of its own.
  const grant = (value: string): Answer => ({ action: "accept", content: { grant: value } });

  test("agrees once: it runs once, and they are asked again", async () => {
    const { shown, results } = await run("date", [grant("once")]);
    expect(results).toEqual([ran, refused]);
    expect(shown).toHaveLength(2);
    expect(shown[0]).toContain('command: "date --version"');
  });

  test("agrees for the session: they are asked once", async () => {
    const { shown, results } = await run("nproc", [grant("session")]);
    expect(results).toEqual([ran, ran]);
    expect(shown).toHaveLength(1);
  });

  test("says never: refused, and not asked again", async () => {
    const { shown, results } = await run("uname", [grant("never")]);
    expect(results).toEqual([refused, refused]);
    expect(shown).toHaveLength(1);
  });

  test("declines or cancels: refused this time", async () => {
    const { shown, results } = await run("arch", [{ action: "decline" }, { action: "cancel" }]);
    expect(results).toEqual([refused, refused, refused]);
    expect(shown).toHaveLength(3);
  });
});
