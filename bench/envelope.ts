import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rgPath } from "@vscode/ripgrep";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { COMMANDS, type EnvelopeCommand } from "./lib/envelope-commands.ts";
import type { Benchmark } from "./lib/report.ts";
import { round } from "./lib/stats.ts";

interface Document {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number;
  readonly enrichment: { readonly match_count: number | null; readonly handle: string | null };
}

interface Measured {
  readonly commandLine: string;
  readonly raw: number;
  readonly summary: number;
  readonly agrees: string;
}

/** From here on an output counts as long. */
const LONG_TOKENS = 2000;
const TARGET_SAVED = 0.6;
const TARGET_EXCESS = 40;

const repository = fileURLToPath(new URL("..", import.meta.url));
const tokensOf = (text: string): number => countTokens(text, { disallowedSpecial: new Set() });

const start = (program: string, commandLine: readonly string[], state: string) => {
  const { stdout, stderr, status } = spawnSync(program, commandLine, {
    cwd: repository,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PATH: `${dirname(rgPath)}:${process.env["PATH"]}`,
      XDG_STATE_HOME: state,
      GIT_PAGER: "cat",
    },
  });
  return { stdout, stderr, exitCode: status ?? -1 };
};

/** Whether both tell the same: status, and the fact that the command was asked for. */
const compare = (
  { fact }: EnvelopeCommand,
  plain: { readonly stdout: string; readonly exitCode: number },
  text: string,
  exitCode: number,
  { exit_code, enrichment, stdout }: Document,
): string => {
  if (plain.exitCode !== exitCode || exit_code !== exitCode)
    return `DIFFERS: exit ${exitCode}, plain ${plain.exitCode}`;
  const expected = fact(plain.stdout);
  if (expected === null) return "yes";
  if (typeof expected === "number" && enrichment.match_count !== null)
    return enrichment.match_count === expected
      ? "yes"
      : `DIFFERS: ${enrichment.match_count}, plain ${expected}`;
  const isThere = `${text}\n${stdout}`.includes(String(expected));
  return isThere ? "yes" : `DIFFERS: ${String(expected).slice(0, 60)} is missing`;
};

const measure = (te: string, command: EnvelopeCommand, state: string): Measured => {
  const [program = "", ...rest] = command.argv;
  const plain = start(program, rest, state);
  const summary = start(te, command.argv, state);
  const json = start(te, ["--json", ...command.argv], state);
  const document = JSON.parse(json.stdout) as Document;
  return {
    commandLine: command.argv.join(" "),
    raw: tokensOf(plain.stdout) + tokensOf(plain.stderr),
    summary: tokensOf(summary.stdout) + tokensOf(summary.stderr),
    agrees: compare(command, plain, summary.stdout, summary.exitCode, document),
  };
};

export const envelope: Benchmark = {
  name: "envelope",
  summary:
    "what `te CMD` costs against CMD for 30 real commands over this repository, and whether both tell the same",
  run: async ({ program, quick }) => {
    const state = mkdtempSync(join(tmpdir(), "llmc-bench-"));
    const te = join(dirname(program), "te");
    const rows: Measured[] = [];
    try {
      for (const command of quick ? COMMANDS.slice(0, 6) : COMMANDS) rows.push(measure(te, command, state));
    } finally {
      rmSync(state, { recursive: true, force: true });
    }
    const long = rows.filter(({ raw }) => raw > LONG_TOKENS);
    const sum = (pick: (row: Measured) => number): number =>
      long.reduce((total, row) => total + pick(row), 0);
    const saved =
      1 -
      sum(({ summary }) => summary) /
        Math.max(
          1,
          sum(({ raw }) => raw),
        );
    const excess = Math.max(...rows.map(({ raw, summary }) => summary - raw));
    const differing = rows.filter(({ agrees }) => agrees !== "yes").length;
    const least = Math.min(...long.map(({ raw, summary }) => 1 - summary / raw));
    return {
      tables: [
        {
          head: ["command", "plain", "te", "saved", "same facts"],
          rows: rows.map(({ commandLine, raw, summary, agrees }) => [
            commandLine.length > 60 ? `${commandLine.slice(0, 59)}…` : commandLine,
            raw,
            summary,
            raw === 0 ? "–" : `${Math.round((1 - summary / raw) * 100)}%`,
            agrees,
          ]),
        },
      ],
      notes: [
        `${long.length} outputs of more than ${LONG_TOKENS} tokens: ${(saved * 100).toFixed(1)} % less, target ≥ ${TARGET_SAVED * 100}: ${saved >= TARGET_SAVED ? "met" : "MISSED"}; the least of them ${(least * 100).toFixed(0)} %`,
        `most above the plain output: ${excess} tokens, target ≤ ${TARGET_EXCESS}: ${excess <= TARGET_EXCESS ? "met" : "MISSED"}`,
        `same exit status and facts: ${rows.length - differing} of ${rows.length}`,
        "tokens (o200k_base) of both streams; te as typed in a terminal, with the note that names the handle",
      ],
      figures: {
        commands: rows.length,
        long: long.length,
        long_plain_tokens: sum(({ raw }) => raw),
        long_te_tokens: sum(({ summary }) => summary),
        saved: round(saved, 4),
        most_excess_tokens: excess,
        differing,
        each: Object.fromEntries(
          rows.map(({ commandLine, raw, summary }) => [commandLine, { plain: raw, te: summary }]),
        ),
      },
    };
  },
};
