/** In which languages the programs of an analysis can be. */
export const GUEST_LANGUAGES = ["javascript", "python"] as const;
export type GuestLanguage = (typeof GUEST_LANGUAGES)[number];
