import { GIT_NO_NETWORK, GIT_NO_PROGRAMS } from "./command-git-table.ts";

/** Merge strategies of git's own; git starts `git-merge-NAME` for any other name. */
export const GIT_STRATEGIES: ReadonlySet<string> = new Set([
  "ort",
  "recursive",
  "resolve",
  "octopus",
  "ours",
  "subtree",
]);

/**
 * Names of settings by their section, in lower case, that start no program, whatever their value is: they say how git
 * stores, shows or sends something, or name a file that it reads. Source: git-config(1) of git 2.39 to 2.52. A setting
 * that is missing here is not trusted, so what a later git invents is covered; leaving one out only refuses too much.
 */
const HARMLESS: Readonly<Record<string, string>> = {
  add: "ignoreerrors ignore-errors interactive.usebuiltin",
  am: "keepcr threeway messageid",
  apply: "ignorewhitespace whitespace",
  attr: "tree",
  author: "name email",
  blame:
    "blankboundary coloring date showemail showroot ignorerevsfile markunblamablelines markignoredlines showprogress",
  branch: "autosetuprebase sort",
  checkout: "defaultremote guess workers thresholdforparallelism",
  clean: "requireforce",
  clone: "defaultremotename filtersubmodules rejectshallow",
  column: "ui branch clean status tag",
  commit: "cleanup status template verbose",
  commitgraph: "generationversion maxnewfilters readchangedpaths changedpaths",
  committer: "name email",
  core:
    "repositoryformatversion filemode bare worktree logallrefupdates ignorecase precomposeunicode protecthfs protectntfs " +
    "symlinks autocrlf eol safecrlf checkroundtripencoding quotepath longpaths untrackedcache preloadindex abbrev " +
    "sparsecheckout sparsecheckoutcone multipackindex commitgraph compression loosecompression bigfilethreshold " +
    "packedgitlimit packedgitwindowsize deltabasecachelimit whitespace trustctime checkstat fscache excludesfile " +
    "attributesfile sharedrepository fsync fsyncmethod fsyncobjectfiles createobject notesref warnambiguousrefs " +
    "hidedotfiles splitindex filesreflocktimeout packedrefstimeout restrictinheritedhandles maxtreedepth " +
    "usereplacerefs prefersymlinkrefs alternaterefsprefixes ignorestat fsmonitorhookversion",
  credential: "username usehttppath interactive sanitizeprompt protectprotocol",
  diff:
    "algorithm autorefreshindex renames renamelimit colormoved colormovedws context mnemonicprefix noprefix srcprefix " +
    "dstprefix wserrorhighlight submodule tool guitool orderfile indentheuristic interhunkcontext statgraphwidth " +
    "statnamewidth dirstat suppressblankempty wordregex relative noindex trustexitcode",
  extensions:
    "objectformat compatobjectformat partialclone worktreeconfig noop preciousobjects relativeworktrees",
  feature: "manyfiles experimental",
  fetch:
    "prune prunetags fsckobjects unpacklimit output parallel writecommitgraph negotiationalgorithm recursesubmodules all " +
    "showforcedupdates",
  format:
    "attach from headers subjectprefix signature signaturefile suffix to cc numbered pretty thread signoff coverletter " +
    "coverfromdescription useautobase encodeemailheaders notes mboxrd filenamemaxlength forceinbodyfrom noprefix",
  gc:
    "autopacklimit autodetach pruneexpire worktreepruneexpire reflogexpire reflogexpireunreachable packrefs " +
    "aggressivewindow aggressivedepth cruftpacks maxcruftsize bigpackthreshold logexpiry rerereresolved rerereunresolved " +
    "writecommitgraph repackfilter",
  fsmonitor: "allowremote socketdir",
  gpg: "format mintrustlevel ssh.allowedsignersfile ssh.revocationfile",
  grep: "linenumber patterntype fullname column threads extendedregexp fallbacktonoindex",
  http:
    "extraheader sslverify sslcainfo sslcapath sslcert sslkey sslcertpasswordprotected sslversion sslbackend proxy " +
    "proxyauthmethod postbuffer lowspeedlimit lowspeedtime followredirects useragent version emptyauth delegation " +
    "maxrequests minsessions schannelcheckrevoke schannelusesslcainfo noepsv keepaliveidle keepaliveinterval " +
    "keepalivecount proxysslcainfo sslcipherlist ssltry pinnedpubkey maxretries retryafter maxretrytime",
  i18n: "commitencoding logoutputencoding filesencoding",
  index: "threads version sparse recordendofindexentries recordoffsettable skiphash",
  init: "defaultbranch defaultobjectformat defaultrefformat",
  interactive: "singlekey",
  log: "abbrevcommit date decorate diffmerges excludedecoration follow graphcolors initialdecorationset mailmap showroot",
  lsrefs: "unborn",
  mailinfo: "scissors quotedcr",
  mailmap: "file blob",
  maintenance: "strategy",
  merge:
    "conflictstyle ff renames renamelimit directoryrenames log stat summary verbosity verifysignatures branchdesc " +
    "defaulttoupstream suppressdest tool guitool renormalize autostash default autoedit",
  notes: "mergestrategy displayref rewritemode rewriteref",
  pack:
    "window depth windowmemory compression threads indexversion packsizelimit deltacachesize deltacachelimit usebitmaps " +
    "usesparse writebitmaphashcache writebitmaplookuptable writereverseindex readreverseindex preferbitmaptips " +
    "islandcore island allowpackreuse usebitmapboundarytraversal usepathwalk",
  protocol: "version",
  pull: "rebase ff autostash",
  push: "default followtags autosetupremote gpgsign recursesubmodules negotiate useforceifincludes usebitmaps pushoption",
  rebase:
    "autosquash autostash backend stat updaterefs missingcommitscheck reschedulefailedexec abbreviatecommands forkpoint " +
    "rebasemerges maxlabellength usebuiltin",
  receive:
    "advertiseatomic advertisepushoptions autogc denycurrentbranch denydeletecurrent denydeletes denynonfastforwards " +
    "fsckobjects keepalive maxinputsize shallowupdate unpacklimit updateserverinfo",
  remote: "pushdefault",
  repack:
    "usedeltabaseoffset usedeltaislands packkeptobjects writebitmaps updateserverinfo cruftwindow cruftwindowmemory " +
    "cruftdepth cruftthreads midxmustcontaincruft",
  rerere: "autoupdate enabled",
  revert: "reference",
  safe: "directory barerepository",
  showbranch: "default",
  sparse: "expectfilesoutsideofpatterns",
  splitindex: "maxpercentchange sharedindexexpire",
  ssh: "variant",
  stash: "showincludeuntracked showpatch showstat usebuiltin",
  status:
    "relativepaths short branch aheadbehind displaycommentprefix renamelimit renames showstash showuntrackedfiles",
  submodule:
    "active recurse fetchjobs propagatebranches alternatelocation alternateerrorstrategy stickyrecursiveclone",
  tag: "forcesignannotated sort",
  tar: "umask",
  trailer: "separators where ifexists ifmissing",
  transfer: "fsckobjects hiderefs unpacklimit advertisesid advertiseobjectinfo credentialsinurl",
  uploadpack:
    "hiderefs allowtipsha1inwant allowreachablesha1inwant allowanysha1inwant allowfilter allowrefinwant keepalive",
  user: "name email useconfigonly signingkey",
  versionsort: "suffix prereleasesuffix",
  worktree: "guessremote userelativepaths",
};

/** The same for names below a subsection (`remote.origin.url`), which may be any text. */
const HARMLESS_NAMED: Readonly<Record<string, string>> = {
  branch: "remote merge rebase pushremote description",
  credential: "username usehttppath provider",
  diff: "binary funcname xfuncname wordregex cachetextconv algorithm trustexitcode",
  filter: "required",
  gc: "reflogexpire reflogexpireunreachable",
  http: HARMLESS["http"] ?? "",
  maintenance: "enabled schedule auto",
  merge: "name recursive",
  remote:
    "url pushurl fetch push mirror skipdefaultupdate skipfetchall tagopt prune prunetags promisor partialclonefilter " +
    "proxy proxyauthmethod followremotehead serveroption lfsurl lfspushurl",
  submodule: "url active path branch ignore fetchrecursesubmodules shallow",
  trailer: "key where ifexists ifmissing",
  url: "insteadof pushinsteadof",
};

/**
 * Sections that git only shows or passes by: colours, advice, other tools' own, and those of sub-commands that take
 * `git:run`. No git program that runs without this power looks for a program there.
 */
const HARMLESS_SECTIONS: ReadonlySet<string> = new Set(
  (
    "advice color completion fsck help pretty remotes " +
    // Of git's own tools that take `git:run`.
    "browser difftool gitweb gui guitool man mergetool sendemail svn svn-remote git-p4 " +
    // Of other tools.
    "absorb annex azure bash branchless bugtraq cola codespaces cinnabar delta dvc forge gerrit gh git-bug git-town github " +
    "gitbutler gitflow gitkraken gitlab gitlens gitreview gk graphite hub jj lazygit lfs machete magit oh-my-zsh " +
    "sourcetree spice stack stgit tgit town tortoisegit vscode zed"
  ).split(" "),
);

/** Settings whose value decides. */
const BY_VALUE: readonly (readonly [key: RegExp, isHarmless: (value: string) => boolean])[] = [
  // A longer comment string could make git write lines into a plan that it takes for something else.
  [/^core\.comment(char|string)$/, (value) => /^(auto|[^\sA-Za-z0-9])$/.test(value)],
  [/^extensions\.refstorage$/, (value) => /^(files|reftable)$/.test(value)],
  [/^pull\.(twohead|octopus)$/, (value) => value.split(/\s+/).every((name) => GIT_STRATEGIES.has(name))],
  [/^submodule\..+\.update$/s, (value) => /^(checkout|rebase|merge|none)$/.test(value)],
];

const keyOf = (setting: string): string => setting.slice(0, setting.indexOf("=")).toLowerCase();

/** Settings that never reach git from a repository unless `git:run` was granted: ours win. */
const OVERRIDDEN: ReadonlySet<string> = new Set([...GIT_NO_PROGRAMS, ...GIT_NO_NETWORK].map(keyOf));

/** The same for whole families: by GIT_ALLOW_PROTOCOL, by GIT_PAGER, and by an empty `credential.helper` at the end. */
const OVERRIDDEN_FAMILY = /^(protocol\..+\.allow|pager\.[^.]+|credential\..+\.helper)$/s;

/** Programs that have names of the repository's own: each is switched off by its name. */
const NAMED_PROGRAM =
  /^(?:(?:filter|diff|merge|trailer)\..*\.(?:clean|smudge|process|command|cmd|textconv|driver)|alias\..+)$/s;
const OFF: ReadonlyMap<string, string> = new Map([
  ["driver", "false"],
  ["cmd", "false"],
]);

/** The value by which the program of a setting is switched off; undefined for other settings. */
export const switchedOff = (key: string): string | undefined =>
  NAMED_PROGRAM.test(key) ? (OFF.get(key.slice(key.lastIndexOf(".") + 1)) ?? "") : undefined;

const tableOf = (names: Readonly<Record<string, string>>): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(Object.entries(names).map(([section, list]) => [section, new Set(list.split(" "))]));

const PLAIN_NAMES = tableOf(HARMLESS);
const SUB_NAMES = tableOf(HARMLESS_NAMED);

/** Other tools call what they keep of a branch or a remote by such names (`vscode-merge-base`); git never does. */
const isForeign = (section: string, name: string): boolean =>
  (section === "branch" || section === "remote") && name.includes("-");

/** Whether a setting starts no program, whoever wrote it. The key is in git's canonical form: `section.sub.name`. */
export const isHarmlessSetting = (key: string, value: string): boolean => {
  const judge = BY_VALUE.find(([pattern]) => pattern.test(key))?.[1];
  if (judge !== undefined) return judge(value);
  const section = key.slice(0, key.indexOf("."));
  if (HARMLESS_SECTIONS.has(section)) return true;
  const rest = key.slice(section.length + 1);
  if (PLAIN_NAMES.get(section)?.has(rest) === true) return true;
  const last = rest.lastIndexOf(".");
  const name = rest.slice(last + 1);
  return last > 0 && (SUB_NAMES.get(section)?.has(name) === true || isForeign(section, name));
};

/** Whether a setting of a repository has no effect on a git that may not run programs of the repository's choice. */
export const isOverridden = (key: string): boolean =>
  OVERRIDDEN.has(key) || OVERRIDDEN_FAMILY.test(key) || switchedOff(key) !== undefined;

/**
 * Settings of the user that git has here, too: who commits, and what commands do. They start nothing, name no file and hold
 * no secret (addresses and headers may). How git shows something stays as it is without settings: others parse it.
 */
const USERS_OWN =
  /^(user\.(name|email|useconfigonly)|(author|committer)\.(name|email)|init\.defaultbranch|core\.(autocrlf|eol|safecrlf)|pull\.(rebase|ff|autostash)|push\.(default|followtags|autosetupremote)|fetch\.(prune|prunetags)|merge\.(ff|conflictstyle|renames|directoryrenames|autostash)|rebase\.(autosquash|autostash|updaterefs|rebasemerges|forkpoint)|commit\.cleanup|checkout\.(defaultremote|guess)|apply\.(whitespace|ignorewhitespace)|rerere\.(enabled|autoupdate)|i18n\.commitencoding)$/;

export const isUserSetting = (key: string): boolean => USERS_OWN.test(key);
