/** What an argument lets a program do beyond its purpose; `command-table.ts` lists the arguments. */
export const POWERS = ["run", "write", "read", "network", "config"] as const;
export type Power = (typeof POWERS)[number];
