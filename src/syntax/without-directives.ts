/** `#if os(iOS)`, `#else`: the grammar knows them in few places, and takes the rest of the file for an error. */
const SWIFT_DIRECTIVE = /^[ \t]*#(?:if|elseif|else|endif)\b.*$/gm;

/** Swift with its conditional directives blanked out: all branches are read, and every place stays where it is. */
export const withoutDirectives = (text: string): string =>
  text.replace(SWIFT_DIRECTIVE, (line) => " ".repeat(line.length));
