/** What the search knows about a passage besides its text: the title and the headings above it. */
export const contextOf = (title: string, headings: readonly string[]): string =>
  [title, ...headings.filter((heading) => heading !== title)].join(" > ");
