import { expect, test } from "vitest";
import { toolChainOf } from "./tool-chain.ts";

test.each([
  ["/home/u/.pyenv/versions/3.12/bin/python3", "/home/u/.pyenv/versions/3.12"],
  ["/home/u/.nvm/versions/node/v24/bin/node", "/home/u/.nvm/versions/node/v24"],
  ["/opt/go/bin/go", "/opt/go"],
  ["/opt/bin/x", "/opt/bin/x"],
  ["/home/u/bin/x", "/home/u/bin/x"],
  ["/home/bin/x", "/home/bin/x"],
  ["/home/u/.local/bin/x", "/home/u/.local/bin/x"],
  ["/home/u/.cargo/bin/cargo", "/home/u/.cargo/bin/cargo"],
  ["/srv/tool", "/srv/tool"],
])("REQ-D12: %s makes %s readable, never a home", (program, shown) => {
  expect(toolChainOf(program, "/home/u")).toBe(shown);
});
