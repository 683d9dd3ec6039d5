import type { UsageGroup, UsageSummary } from "../host/state/usage/usage.ts";

const BAR_CELLS = 24;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** A bar of block characters, exact to an eighth of a cell. */
const bar = (value: number, largest: number): string => {
  if (largest <= 0 || value <= 0) return "";
  const eighths = Math.max(1, Math.round((value / largest) * BAR_CELLS * 8));
  return "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
};

const plainBar = (value: number, largest: number): string =>
  largest <= 0 || value <= 0 ? "" : "#".repeat(Math.max(1, Math.round((value / largest) * BAR_CELLS)));

/** 987, 12.3k, 4.6M. */
const shortNumber = (value: number): string => {
  if (value < 1000) return String(Math.round(value));
  const [divided, unit] = value < 999_950 ? [value / 1000, "k"] : [value / 1_000_000, "M"];
  return `${divided < 99.95 ? divided.toFixed(1) : Math.round(divided)}${unit}`;
};

const share = (part: number, whole: number): string =>
  whole <= 0 ? "-" : `${Math.round((part / whole) * 100)}%`;

/** Names come from clients, and this goes to a terminal. */
const plainName = (name: string): string => {
  const clean = name.replace(/[^\x20-\x7e]/g, "?") || "(none)";
  return clean.length <= 36 ? clean : `${clean.slice(0, 35)}~`;
};

const savedOf = ({ rawTokens, shownTokens }: UsageGroup): number => Math.max(0, rawTokens - shownTokens);

const table = (title: string, groups: readonly UsageGroup[], draw: typeof bar): string => {
  const largest = Math.max(0, ...groups.map(({ shownTokens }) => shownTokens));
  const rows = groups.map((group) => [
    plainName(group.name),
    String(group.calls),
    group.failed === 0 ? "" : String(group.failed),
    shortNumber(group.shownTokens),
    share(savedOf(group), group.rawTokens),
    draw(group.shownTokens, largest),
  ]);
  const cells = [[title, "calls", "failed", "tokens", "saved", ""], ...rows];
  const widths =
    cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) =>
        i === 0 || i === row.length - 1 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0),
      )
      .join("  ")
      .trimEnd();
  return cells.map(line).join("\n");
};

/** Who spent what, and what the envelope saved: a few small tables with bars. */
export const usageText = (summary: UsageSummary, options: { readonly bars: boolean }): string => {
  const { total, agents, sessions, commands, days } = summary;
  if (total.calls === 0) return "No commands have been recorded here yet. Run some with te or a client.\n";
  const draw = options.bars ? bar : plainBar;
  const saved = savedOf(total);
  const head =
    `${total.calls} ${total.calls === 1 ? "command" : "commands"}, ${total.failed} failed, ${shortNumber(total.latencyMs / 1000)} s; ` +
    `${shortNumber(total.shownTokens)} tokens shown of ${shortNumber(total.rawTokens)} raw: ` +
    `${shortNumber(saved)} saved (${share(saved, total.rawTokens)})`;
  return `${[
    head,
    table("agent / model", agents, draw),
    table("command", commands, draw),
    ...(sessions.length > 1 ? [table("session", sessions, draw)] : []),
    ...(days.length > 1 ? [table("day", days, draw)] : []),
  ].join("\n\n")}\n`;
};
