import { type Command, InvalidArgumentError, Option } from "commander";
import { MODES } from "../core/options.ts";
import type { Actions } from "./actions.ts";

/** Of an option that may be repeated: all its values. */
export const collect = (value: string, previous: readonly string[]): readonly string[] => [
  ...previous,
  value,
];

const parseMode = (text: string): (typeof MODES)[number] => {
  const mode = MODES.find((one) => one === text);
  if (mode === undefined) throw new InvalidArgumentError(`Allowed choices are ${MODES.join(", ")}.`);
  return mode;
};

/** The options that every command takes. */
export const withCommon = (command: Command): Command =>
  command
    .option("--root <dir>", "workspace (default: LLMC_ROOT, or this folder)")
    .option("--config <file>", "configuration file (default: LLMC_CONFIG, or llmc.toml in the workspace)")
    .addOption(
      new Option(
        "--mode <mode>",
        `which tools clients see (${MODES.map((mode) => `"${mode}"`).join(", ")})`,
      ).argParser(parseMode),
    )
    .addOption(
      new Option("--set <key=value>", "override a configuration key; may be repeated")
        .argParser(collect)
        .default([], "none"),
    );

export type AddCommands = (program: Command, actions: Actions) => void;
