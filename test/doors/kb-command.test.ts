import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { type Ended, runLlmc, startLlmc } from "../command-line.ts";
import { pageOf, pdfOf } from "../documents/pdf.ts";
import { docxOf, paragraph } from "../documents/zip.ts";
import { cleanEnv } from "../workspace.ts";

/** A workspace, and documents outside of it that only the operator's command line may name. */
const openFolders = () => {
  const outside = tempWorkspace();
  const root = tempWorkspace({
    "notes/deploy.md": "# Deployment\nReleases are deployed on every Tuesday.\n",
  });
  const guide = join(outside, "guide");
  mkdirSync(guide);
  writeFileSync(join(guide, "backup.md"), "# Backups\nEach backup is kept for thirty days.\n");
  writeFileSync(
    join(guide, "vpn.html"),
    "<html><head><title>VPN</title></head><body><h1>VPN access</h1><p>The VPN client needs a hardware token.</p><script>alert(1)</script></body></html>",
  );
  writeFileSync(join(guide, "travel.pdf"), pdfOf([pageOf("Travel expenses are refunded within six weeks.")]));
  writeFileSync(
    join(guide, "leave.docx"),
    docxOf(paragraph("Leave", "Heading1") + paragraph("Parental leave lasts fourteen months.")),
  );
  writeFileSync(join(guide, "broken.pdf"), "%PDF-1.7\nnothing else");
  const kb = (...args: readonly string[]): Promise<Ended> =>
    runLlmc(root, ["kb", ...args], { env: cleanEnv() });
  /** A command that has to succeed. */
  const ok = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await kb(...args);
    expect({ code, err, args }).toEqual({ code: 0, err: expect.anything(), args });
    return out;
  };
  return { root, outside, guide, kb, ok };
};

describe("llmc kb, from the first command to the last: REQ-K1 REQ-K2 REQ-K7 REQ-K8", () => {
  test("documents of four formats become answers with citations, versions, scores and packs", {
    timeout: 120_000,
  }, async () => {
    const { root, outside, guide, kb, ok } = openFolders();
    expect(await ok("create", "hand", "--product", "Widget")).toContain("for this workspace");
    expect((await kb("create", "hand")).code).not.toBe(0);

    // A dry run changes nothing; what cannot be parsed is named, and the rest goes in.
    const dry = await ok("add", "hand", guide, "--version", "1.0.0", "--dry-run");
    expect(dry).toContain("hand 1.0.0 (dry run): 4 added, 0 changed, 0 removed, 0 unchanged, 1 failed");
    expect(dry).toContain("+ guide/backup.md");
    expect(dry).toContain("! guide/broken.pdf: invalid_args");
    expect(dry).not.toContain("+ guide/broken.pdf");
    expect(await ok("ls")).toContain("hand: empty");
    const added = await ok("add", "hand", guide, "notes", "--version", "1.0.0");
    expect(added).toContain("hand 1.0.0: 5 added, 0 changed, 0 removed, 0 unchanged, 1 failed");
    expect(added).toContain("! guide/broken.pdf: invalid_args");
    expect(await kb("search", "hand", "backup")).toMatchObject({ err: expect.stringContaining("promote") });
    const promoted = await ok("promote", "hand");
    expect(promoted).toContain("hand 1.0.0 is active");
    expect(promoted).toContain(
      "agents reach it from programs (execute_code): await tools.kb_answer({query})",
    );
    expect(promoted).toContain("[mcp.hybrid]");

    // Sources outside of the workspace are cited by their own name, never by a path of the machine.
    const cited = { backup: "guide/backup.md#L2", VPN: "guide/vpn.html", Travel: "guide/travel.pdf" };
    for (const [query, anchor] of Object.entries({
      ...cited,
      Parental: "guide/leave.docx",
      Releases: "notes/deploy.md",
    })) {
      const found = await ok("search", "hand", query, "-k", "1");
      expect(found).toContain(anchor);
      expect(found).not.toContain(outside);
    }
    expect(await ok("search", "hand", "travel expenses", "-k", "1")).toMatch(
      /travel\.pdf#page=1|travel\.pdf.*p(?:age)?\.? ?1/,
    );
    expect(await ok("search", "hand", "VPN")).not.toContain("alert(1)");
    const answer = JSON.parse(await ok("ask", "How long is each backup kept?", "--json"));
    // The operator chooses the model; where it may run is still decided by its profile.
    const { err: elsewhere } = await kb("ask", "How long is each backup kept?", "--model", "openai/tiny");
    expect(elsewhere).toContain('mcp.rlm.profile is "restricted"');
    expect(answer).toMatchObject({
      text: expect.stringMatching(/^1> .*kept for thirty days\.$/m),
      citations: [{ anchor: "guide/backup.md#L2", version: "1.0.0" }],
    });

    // The next version: one document changed, one has gone.
    writeFileSync(join(guide, "backup.md"), "# Backups\nEach backup is kept for ninety days.\n");
    rmSync(join(guide, "vpn.html"));
    expect(await ok("sync", "hand", "--version", "1.1.0")).toContain(
      "0 added, 1 changed, 1 removed, 3 unchanged",
    );
    expect(await ok("search", "hand", "how long is a backup kept", "-k", "1")).toContain("thirty");
    const questions = join(root, "questions.jsonl");
    writeFileSync(
      questions,
      `${JSON.stringify({ query: "how long is a backup kept", gold: ["backup.md"], answer: "thirty days" })}\n${JSON.stringify({ query: "what does the VPN client need", gold: ["vpn.html"] })}\n`,
    );
    const report = join(root, "report.html");
    expect(
      await ok("eval", "hand", "questions.jsonl", "--version", "1.1.0", "--report", "report.html"),
    ).toMatch(
      /hand 1\.1\.0, 2 questions: recall@10 0\.5, .*\nagainst 1\.0\.0: recall@10 -0\.5, nDCG@10 -0\.5, faithfulness -/,
    );
    expect(readFileSync(report, "utf8")).toMatch(
      /<svg[\s\S]*Drift against 1\.0\.0|Drift against 1\.0\.0[\s\S]*<svg/,
    );
    expect(await kb("promote", "hand")).toMatchObject({
      code: expect.any(Number),
      err: expect.stringContaining("was not promoted"),
    });
    expect(await ok("promote", "hand", "--force")).toContain("hand 1.1.0 is active instead of 1.0.0");
    expect(await ok("search", "hand", "how long is a backup kept", "-k", "1")).toContain("ninety");
    expect(await ok("rollback", "hand")).toContain("hand 1.0.0 is active again");
    expect(await ok("pin", "hand", "1.1.0")).toContain("pinned to 1.1.0");
    expect(await ok("ls")).toMatch(/^hand 1\.1\.0 \(pinned\).*\nhand 1\.0\.0 \(active\)/);
    expect(await ok("search", "hand", "how long is a backup kept", "-k", "1")).toContain("ninety");
    await ok("pin", "hand");

    // A pack under another name answers as the version that it was made of.
    const nowhere = await kb("export", "hand", "missing/hand.kbpack", "--version", "1.1.0");
    expect(nowhere.code).not.toBe(0);
    expect(nowhere.err).toContain("missing/hand.kbpack cannot be written: there is no such folder.");
    expect(nowhere.err).not.toContain("--root");
    await ok("export", "hand", "hand.kbpack", "--version", "1.1.0");
    expect(await ok("import", "hand.kbpack", "--name", "copy")).toContain("copy 1.1.0: 4 documents");
    await ok("promote", "copy", "--force");
    expect(await ok("search", "copy", "how long is a backup kept", "-k", "1")).toContain("ninety");

    expect(await ok("gc", "hand", "--keep", "0")).toContain("removed 1.1.0");
    expect(await ok("forget", "hand", "notes", "--version", "1.2.0")).toContain("1 document removed");
    const unasked = await kb("rm", "hand");
    expect(unasked).toMatchObject({ code: 2, err: expect.stringContaining("Nothing was removed") });
    expect(await ok("rm", "hand", "--yes")).toContain("removed hand");
    expect(await ok("ls")).not.toContain("hand 1.");
  });

  test("promote says how agents reach it in each mode", async () => {
    const { root, ok } = openFolders();
    await ok("create", "hand");
    await ok("add", "hand", "notes");
    const messageWith = async (config: string): Promise<string> => {
      writeFileSync(join(root, "llmc.toml"), config);
      return ok("promote", "hand", "1.0.0");
    };
    expect(await messageWith('[mcp]\nmode = "classic"\n')).toContain("agents call kb_answer");
    expect(
      await messageWith('[mcp]\nmode = "hybrid"\n[mcp.hybrid]\npromoted_tools = ["kb_answer"]\n'),
    ).toContain("agents call kb_answer");
    expect(
      await messageWith('[mcp]\nmode = "hybrid"\n[mcp.hybrid]\ninclude_execute_code = false\n'),
    ).toContain("agents do not see it; to list the tools");
  });

  test("as a process of its own", { timeout: 60_000 }, async () => {
    const { root, guide } = openFolders();
    const start = (...args: readonly string[]) => startLlmc(root, ["kb", ...args], { env: cleanEnv() });
    for (const args of [
      ["create", "hand"],
      ["add", "hand", join(guide, "leave.docx")],
      ["promote", "hand"],
    ])
      expect(await start(...args)).toMatchObject({ code: 0 });
    const { code, out } = await start("ask", "How long does parental leave last?");
    expect(code).toBe(0);
    expect(out).toContain("fourteen months");
  });
});
