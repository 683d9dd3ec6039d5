import { expect, test } from "vitest";
import { userFolders } from "./user-folders.ts";

test("without variables the folders lie in the home (REQ-D22)", () => {
  expect(userFolders({}, "/home/ada")).toEqual({
    home: "/home/ada",
    config: "/home/ada/.config/llmc",
    git: "/home/ada/.config/git",
    state: "/home/ada/.local/state/llmc",
  });
});

test("absolute variables win, relative ones are ignored", () => {
  const env = { XDG_CONFIG_HOME: "/etc/ada", XDG_STATE_HOME: "state" };
  expect(userFolders(env, "/home/ada")).toEqual({
    home: "/home/ada",
    config: "/etc/ada/llmc",
    git: "/etc/ada/git",
    state: "/home/ada/.local/state/llmc",
  });
});
