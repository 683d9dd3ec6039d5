import type { Argument, Command, Option } from "commander";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";

/** A command as completion sees it. */
interface Node {
  /** Its words, such as `config show`; empty for the program itself. */
  readonly path: string;
  readonly about: string;
  readonly children: readonly Node[];
  readonly options: readonly Flag[];
  /** The values of its first argument, where they are known. */
  readonly values: readonly string[];
}

interface Flag {
  readonly name: string;
  readonly about: string;
  readonly takesValue: boolean;
  readonly values: readonly string[];
}

/** Help texts list the values of an argument or option, in order: "a, b, c" or ("a", "b"). */
const listed = (text: string): readonly string[] =>
  /^[\w-]+(?:, [\w-]+)+$/.test(text)
    ? text.split(", ")
    : [...text.matchAll(/"([\w-]+)"/g)].map(([, value = ""]) => value);

const flagOf = (option: Option): Flag => ({
  name: option.long ?? option.flags,
  about: option.description,
  takesValue: option.required,
  values: option.argChoices ?? listed(option.description),
});

const valuesOf = (argument: Argument | undefined): readonly string[] =>
  argument === undefined ? [] : (argument.argChoices ?? listed(argument.description));

const nodeOf = (command: Command, path: string): Node => ({
  path,
  about: command.description(),
  children: command.commands.map((child) => nodeOf(child, `${path} ${child.name()}`.trim())),
  options: command.options.filter(({ hidden }) => !hidden).map(flagOf),
  values: valuesOf(command.registeredArguments[0]),
});

const nameOf = ({ path }: Node): string => path.slice(path.lastIndexOf(" ") + 1);

const allOf = (node: Node): readonly Node[] => [node, ...node.children.flatMap(allOf)];

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The words that may come next, options last. */
const candidatesAfter = ({ children, values, options }: Node): readonly string[] => [
  ...children.map(nameOf),
  ...values,
  ...options.map(({ name }) => name),
];

/** Shell code that walks from the first word on and leaves the command's words in `path`. */
const walk = (nodes: readonly Node[]): string =>
  nodes
    .flatMap((node) =>
      node.children.map(
        (child) => `      ${quote(`${node.path} ${nameOf(child)}`)}) path=${quote(child.path)} ;;`,
      ),
    )
    .join("\n");

/** An option with a value, as a pattern of "command option"; without known values it takes a file. */
interface ValuedOption {
  readonly pattern: string;
  readonly values: readonly string[];
}

/** An option with the same values in every command stands once, the others once per command. */
const valuedOptions = (nodes: readonly Node[]): readonly ValuedOption[] => {
  const all = nodes.flatMap(({ path, options }) =>
    options.filter(({ takesValue }) => takesValue).map(({ name, values }) => ({ path, name, values })),
  );
  const isSame = (name: string): boolean =>
    new Set(all.filter((one) => one.name === name).map(({ values }) => values.join(" "))).size === 1;
  const patterns = all.map(({ path, name, values }): [string, readonly string[]] => [
    isSame(name) ? `*${quote(` ${name}`)}` : quote(`${path} ${name}`),
    values,
  ]);
  return [...new Map(patterns)].map(([pattern, values]) => ({ pattern, values }));
};

const bash = (root: Node): string => {
  const nodes = allOf(root);
  return `# Completion of llmc for bash: eval "$(llmc completion bash)"
_llmc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${walk(nodes)}
    esac
  done
  case "$path $prev" in
${valuedOptions(nodes)
  .map(({ pattern, values }) => {
    const known = values.length === 0 ? "-f" : `-W ${quote(values.join(" "))}`;
    return `    ${pattern}) COMPREPLY=($(compgen ${known} -- "$cur")); return ;;`;
  })
  .join("\n")}
  esac
  case "$path" in
${nodes
  .map(
    (node) =>
      `    ${quote(node.path)}) COMPREPLY=($(compgen -W ${quote(candidatesAfter(node).join(" "))} -- "$cur")) ;;`,
  )
  .join("\n")}
  esac
}
complete -o default -F _llmc llmc llmc-mcp
`;
};

const describedCandidates = ({ children, values, options }: Node): string =>
  [
    ...children.map((child) => [nameOf(child), child.about] as const),
    ...values.map((value) => [value, ""] as const),
    ...options.map(({ name, about }) => [name, about] as const),
  ]
    .map(([word, about]) => quote(about === "" ? word : `${word}:${about.replaceAll(":", "\\:")}`))
    .join(" ");

const zsh = (root: Node): string => {
  const nodes = allOf(root);
  return `#compdef llmc llmc-mcp
# Completion of llmc for zsh: eval "$(llmc completion zsh)", or a file _llmc in a folder of $fpath.
_llmc() {
  local at= word
  local -a next
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
${walk(nodes).replaceAll(" path=", " at=")}
    esac
  done
  case "$at $words[CURRENT-1]" in
${valuedOptions(nodes)
  .map(
    ({ pattern, values }) =>
      `    ${pattern}) ${values.length === 0 ? "_files" : `compadd -- ${values.join(" ")}`}; return ;;`,
  )
  .join("\n")}
  esac
  case "$at" in
${nodes.map((node) => `    ${quote(node.path)}) next=(${describedCandidates(node)}) ;;`).join("\n")}
  esac
  _describe llmc next || _files
}
if [ "$funcstack[1]" = _llmc ]; then _llmc "$@"; else compdef _llmc llmc llmc-mcp; fi
`;
};

const fish = (root: Node): string => {
  const line = (condition: string, rest: string): string => `complete -c llmc -n ${quote(condition)} ${rest}`;
  const seen = (node: Node): string =>
    [
      ...(node.path === ""
        ? ["__fish_use_subcommand"]
        : node.path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`)),
      ...(node.path !== "" && node.children.length > 0
        ? [`not __fish_seen_subcommand_from ${node.children.map(nameOf).join(" ")}`]
        : []),
    ].join("; and ");
  const linesOf = (node: Node): readonly string[] => [
    ...node.children.map((child) =>
      line(seen(node), `-f -a ${quote(nameOf(child))} -d ${quote(child.about)}`),
    ),
    ...(node.values.length === 0 ? [] : [line(seen(node), `-f -a ${quote(node.values.join(" "))}`)]),
    ...node.options.map(({ name, about, takesValue, values }) =>
      line(
        seen(node),
        `-l ${name.replace(/^--/, "")} -d ${quote(about)}${takesValue ? " -r" : ""}${values.length === 0 ? "" : ` -f -a ${quote(values.join(" "))}`}`,
      ),
    ),
  ];
  return `# Completion of llmc for fish: llmc completion fish | source
${allOf(root).flatMap(linesOf).join("\n")}
`;
};

export const SHELLS = ["bash", "zsh", "fish"] as const;
const WRITERS: Readonly<Record<(typeof SHELLS)[number], (root: Node) => string>> = { bash, zsh, fish };

/** The script that completes the commands, options and values of this program in a shell. */
export const completionScript = (program: Command, shell: string): string => {
  const known = SHELLS.find((one) => one === shell);
  if (known === undefined)
    throw new LlmcError("invalid_args", `There is no completion for ${quoteForMessage(shell)}.`, {
      hint: `Known shells: ${SHELLS.join(", ")}.`,
    });
  return WRITERS[known](nodeOf(program, ""));
};
