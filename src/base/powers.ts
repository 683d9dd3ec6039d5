/** What an argument can give a program beyond its plain work; `policy/command-table.ts` says which argument gives which. */
export const POWERS = ["run", "write", "read", "network", "config"] as const;
export type Power = (typeof POWERS)[number];
