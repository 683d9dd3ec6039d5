import { describe, expect, test } from "vitest";
import { isHarmlessSetting, isOverridden, switchedOff } from "./git-settings.ts";

const isTrusted = (key: string, value = "x"): boolean => isOverridden(key) || isHarmlessSetting(key, value);

describe("REQ-D24 FAIL-J3 settings of a repository", () => {
  test.each([
    "core.filemode",
    "core.worktree",
    "core.hookspath",
    "core.excludesfile",
    "core.fsmonitor",
    "extensions.partialclone",
    "remote.origin.url",
    "remote.my.fork.fetch",
    "remote.origin.promisor",
    "remote.origin.gh-resolved",
    "branch.a.b/c.merge",
    "branch.topic.vscode-merge-base",
    "branch.topic.github-pr-owner-number",
    "user.signingkey",
    "gpg.ssh.program",
    "commit.gpgsign",
    "pager.log",
    "color.diff.meta",
    "url.git@example.org:.insteadof",
    "http.https://example.org/.extraheader",
    "credential.https://example.org.helper",
    "protocol.file.allow",
    "submodule.lib.url",
    "filter.lfs.process",
    "filter.lfs.required",
    "merge.ours.driver",
    "diff.x.textconv",
    "alias.st",
    "mergetool.code.cmd",
    "lfs.https://example.org/info/lfs.access",
    "gitflow.branch.master",
    "gitbutler.project.id",
    "vscode.x",
  ])("%s is harmless, or switched off", (key) => {
    expect(isTrusted(key)).toBe(true);
  });

  test.each([
    "core.gitproxy",
    "core.alternaterefscommand",
    "core.virtualfilesystem",
    "core.something-new",
    "diff.external",
    "gc.recentobjectshook",
    "gpg.ssh.defaultkeycommand",
    "gpg.other.program",
    "hook.x.command",
    "hook.x.event",
    "http.cookiefile",
    "init.templatedir",
    "rebase.instructionformat",
    "remote.origin.vcs",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "branch.main.mergeoptions",
    "submodule.lib.gitdir",
    "tar.tgz.command",
    "trace2.eventtarget",
    "uploadpack.packobjectshook",
    "include.path",
    "includeif.x.path",
    "unheardof.name",
    "core",
    "",
    "constructor.name",
  ])("%s is not", (key) => {
    expect(isTrusted(key)).toBe(false);
  });

  test.each([
    ["pull.twohead", "ort recursive", true],
    ["pull.twohead", "ort x/evil", false],
    ["pull.octopus", "evil", false],
    ["core.commentchar", ";", true],
    ["core.commentchar", "x", false],
    ["core.commentstring", "exec touch x;#", false],
    ["submodule.a.update", "rebase", true],
    ["submodule.a.update", "!touch x", false],
    ["extensions.refstorage", "reftable", true],
    ["extensions.refstorage", "files:///elsewhere", false],
  ])("%s = %s: %s", (key, value, isFine) => {
    expect(isTrusted(key, value)).toBe(isFine);
  });

  test.each([
    ["filter.a.b.clean", ""],
    ["merge.x.driver", "false"],
    ["trailer.x.cmd", "false"],
    ["alias.remote-x", ""],
    ["filter.x.required", undefined],
  ])("%s is switched off by %j", (key, value) => {
    expect(switchedOff(key)).toBe(value);
  });
});
