import { refuseConstruct, refuseNamed, refuseSyntax } from "./refusals.ts";

interface HereDocument {
  /** The line that ends it. */
  readonly mark: string;
  /** `<<-`: tabs in front of lines do not count. */
  readonly isIndented: boolean;
  /** Nothing in it is expanded. */
  readonly isQuoted: boolean;
}

/** The lines up to the end mark, and the length of all of it. */
export const readHereDocument = (
  rest: string,
  { mark, isIndented, isQuoted }: HereDocument,
): { readonly body: string; readonly length: number } => {
  const lines: string[] = [];
  let length = 0;
  for (const line of rest.split("\n")) {
    length += line.length + 1;
    const stripped = isIndented ? line.replace(/^\t+/, "") : line;
    if (stripped === mark) {
      if (!isQuoted && lines.some((one) => /[$`\\]/.test(one)))
        throw refuseConstruct(
          "a here-document with expansions",
          rest,
          "Put quotes around its end mark: <<'EOF'.",
        );
      return { body: lines.map((one) => `${one}\n`).join(""), length: Math.min(length, rest.length) };
    }
    lines.push(stripped);
  }
  throw refuseSyntax(`<<${mark}`, "is a here-document without its end mark");
};

const CONSTANT = /^\$\([ \t\n]*cat[ \t]*<<(-?)[ \t]*(?:(['"])(\w+)\2|(\\?)(\w+))[ \t]*\n/;

/** `$(cat <<'EOF' …)` is only a way to write text, and the one command substitution that needs no command. */
export const readConstantSubstitution = (
  rest: string,
): { readonly text: string; readonly length: number } => {
  const [opening, dash, quote, quoted, backslash, plain] = CONSTANT.exec(rest) ?? [];
  if (opening === undefined) throw refuseNamed("command_substitution", rest);
  const { body, length } = readHereDocument(rest.slice(opening.length), {
    mark: quoted ?? plain ?? "",
    isIndented: dash === "-",
    isQuoted: quote !== undefined || backslash !== "",
  });
  const end = opening.length + length;
  const closing = /^[ \t\n]*\)/.exec(rest.slice(end))?.[0];
  if (closing === undefined) throw refuseNamed("command_substitution", rest);
  return { text: body.replace(/\n+$/, ""), length: end + closing.length };
};
