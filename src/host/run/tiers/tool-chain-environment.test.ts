import { expect, test } from "vitest";
import { SYSTEM_PATH } from "../../os/system-programs.ts";
import { toolChainEnvironment } from "./tool-chain.ts";

const SYSTEM = SYSTEM_PATH.join(":");

test.each([
  ["/usr/bin/git", [], { PATH: SYSTEM }],
  ["/srv/tool", [], { PATH: SYSTEM }],
  [
    "/w/node_modules/.bin/vitest",
    ["/h/.nvm/v24"],
    { PATH: `/w/node_modules/.bin:/h/.nvm/v24/bin:${SYSTEM}` },
  ],
  ["/usr/bin/make", ["/h/go/bin"], { PATH: `/h/go/bin:${SYSTEM}` }],
  [
    "/h/.rustup/toolchains/stable/bin/cargo",
    ["/h/.rustup/toolchains/stable", "/h/.cargo/registry"],
    {
      CARGO_HOME: "/h/.cargo",
      RUSTUP_HOME: "/h/.rustup",
      PATH: `/h/.rustup/toolchains/stable/bin:/h/.cargo/registry/bin:${SYSTEM}`,
    },
  ],
  ["/usr/bin/go", ["/h/go/pkg/mod"], { GOMODCACHE: "/h/go/pkg/mod", PATH: `/h/go/pkg/mod/bin:${SYSTEM}` }],
])("REQ-D15: %s sees the tool chain that the user sees", (program, folders, environment) => {
  expect(toolChainEnvironment(program, folders)).toEqual(environment);
});
