import type { Argument, Command, Option } from "commander";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";

/** Help texts list the values of an argument or option, in order: "a, b, c" or ("a", "b"). */
const listValues = (text: string): readonly string[] =>
  /^[\w-]+(?:, [\w-]+)+$/.test(text)
    ? text.split(", ")
    : [...text.matchAll(/"([\w-]+)"/g)].map(([, value = ""]) => value);

const valuesOf = (from: Argument | Option | undefined): readonly string[] =>
  from === undefined ? [] : (from.argChoices ?? listValues(from.description));

const withDescription = (name: string, description: string): string =>
  description === "" ? name : `${name}\t${description}`;

/** Values of arguments by their names, where no help text lists them. */
export type ArgumentValues = Readonly<Record<string, readonly string[]>>;

/**
 * What may stand in the place of the last argument, each on a line of its own with its description behind a tab. Nothing
 * where a file is expected.
 */
export const completeArguments = (
  program: Command,
  typed: readonly string[],
  values: ArgumentValues = {},
): readonly string[] => {
  const before = typed.slice(0, -1);
  const command = before.reduce(
    (above, name) => above.commands.find((child) => child.name() === name) ?? above,
    program,
  );
  const option = command.options.find(({ long, required }) => required && long === before.at(-1));
  const candidates =
    option !== undefined
      ? valuesOf(option)
      : [
          ...command.commands.map((child) => withDescription(child.name(), child.description())),
          ...valuesOf(command.registeredArguments[0]),
          ...(values[command.registeredArguments[0]?.name() ?? ""] ?? []),
          ...command.options
            .filter(({ hidden }) => !hidden)
            .map(({ long, flags, description }) => withDescription(long ?? flags, description)),
        ];
  return candidates.filter((candidate) => candidate.startsWith(typed.at(-1) ?? ""));
};

/** Each asks the program itself what comes next, and offers files if it has no answer. */
const SCRIPTS = {
  bash: `# Completion of llmc for bash: eval "$(llmc completion bash)"
_llmc() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" completion -- "\${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
  COMPREPLY=("\${COMPREPLY[@]%%$'\\t'*}")
  [ -n "$COMPREPLY" ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _llmc llmc llmc-mcp
`,
  zsh: `#compdef llmc llmc-mcp
# Completion of llmc for zsh: eval "$(llmc completion zsh)", or a file _llmc in a folder of $fpath.
_llmc() {
  local -a next
  next=("\${(@f)$("$words[1]" completion -- "\${(@)words[1,CURRENT]}" 2>/dev/null)}")
  next=("\${(@)next/$'\\t'/:}")
  if [ -n "$next[1]" ]; then _describe llmc next; else _files; fi
}
if [ "$funcstack[1]" = _llmc ]; then _llmc "$@"; else compdef _llmc llmc llmc-mcp; fi
`,
  fish: `# Completion of llmc for fish: llmc completion fish | source
function __llmc_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -l next ($typed[1] completion -- $typed "$current" 2>/dev/null)
  if set -q next[1]
    printf '%s\\n' $next
  else
    __fish_complete_path "$current"
  end
end
complete -c llmc -f -a '(__llmc_complete)'
`,
} as const;

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** The script that completes the commands, options and values of this program in a shell. */
export const completionScript = (shell: string): string => {
  const known = SHELLS.find((one) => one === shell);
  if (known === undefined)
    throw new LlmcError("invalid_args", `There is no completion for ${quoteForMessage(shell)}.`, {
      hint: `Known shells: ${SHELLS.join(", ")}.`,
    });
  return SCRIPTS[known];
};
