import { describe, expect, it } from "vitest";
import { loadText } from "../../test/config-request.ts";
import { TABLES } from "./sections.ts";
import { fullTemplate, shortTemplate } from "./template.ts";

const load = (text: string | undefined) => loadText(text);

const SHOWN = TABLES.flatMap(({ entries }) => entries);

/** A comment has one space behind its #; what has none or more is a key or a part of its value. */
const uncommented = () => fullTemplate().replaceAll(/^#(?! \S)/gm, "");

describe("REQ-C6: the file that llmc init writes", () => {
  it("is short, names the mode, and loads to the defaults with and without its #", async () => {
    const text = shortTemplate();
    expect(text.split("\n").length).toBeLessThan(40);
    for (const one of [text, text.replaceAll(/^#(?! \S)/gm, "")])
      expect((await load(one)).config).toEqual((await load(undefined)).config);
    expect([...(await load(text)).origins].filter(([, { source }]) => source === "file")).toHaveLength(1);
  });
});

describe("REQ-C6: the file that llmc init --all writes", () => {
  it("loads to the defaults, with the mode as its only value", async () => {
    const { config, origins } = await load(fullTemplate());
    expect(config).toEqual((await load(undefined)).config);
    expect([...origins].filter(([, { source }]) => source === "file").map(([key]) => key)).toEqual([
      "mcp.mode",
    ]);
  });

  it("holds every key, and loads to the defaults with every key uncommented", async () => {
    const { config, origins } = await load(uncommented());
    expect(SHOWN.filter(({ key }) => origins.get(key)?.source !== "file")).toEqual([]);
    const { linux_ops, ...rest } = config.mcp;
    const { linux_ops: _leftOut, ...defaults } = (await load(undefined)).config.mcp;
    expect(rest).toEqual(defaults);
    // What is left out by default can only be shown as the list that denies.
    expect(linux_ops.roots).toEqual({ allowed_roots: [], enforce_roots: true });
  });

  it.each(SHOWN)("$key can be uncommented alone", async ({ key, name, option }) => {
    const lines = fullTemplate().split("\n");
    const header = lines.indexOf(`[${key.slice(0, -name.length - 1)}]`);
    const start = lines.findIndex(
      (line, at) => at > header && line.replace("#", "").startsWith(`${name} = `),
    );
    const [, ...after] = lines.slice(start);
    const more = lines[start]?.endsWith("[") ? after.indexOf("#]") + 1 : 0;
    const text = lines
      .map((line, at) => (at >= start && at <= start + more ? line.replace(/^#/, "") : line))
      .join("\n");
    expect((await load(text)).origins.get(key)?.source).toBe("file");
    expect(lines[start - 1]).toContain(option.description);
  });
});
