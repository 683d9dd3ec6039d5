/** Where components keep their script: in a `<script>` element, or between the fences at the top. */
const SCRIPTS: Readonly<Record<string, RegExp>> = {
  vue: /<script\b[^>]*>([\s\S]*?)<\/script\s*>/gi,
  svelte: /<script\b[^>]*>([\s\S]*?)<\/script\s*>/gi,
  astro: /^\uFEFF?---\r?\n([\s\S]*?)^---/gm,
};

/** The text with all but its scripts turned into spaces, so that every position stays; nothing where it has none. */
export const scriptOnly = (text: string, language: string): string | undefined => {
  const pattern = Object.hasOwn(SCRIPTS, language) ? SCRIPTS[language] : undefined;
  if (pattern === undefined) return undefined;
  const blank = (part: string): string => part.replace(/[^\n]/g, " ");
  let masked = "";
  for (const match of text.matchAll(pattern)) {
    const script = match[1] ?? "";
    const start = match.index + match[0].indexOf(script, match[0].search(/>|\n/));
    if (start < masked.length) continue;
    masked += blank(text.slice(masked.length, start)) + script;
  }
  return masked.trim() === "" ? undefined : masked + blank(text.slice(masked.length));
};
