import type { SupportedLanguage } from "tree-sitter-wasm";
/** The kind of content of a file: it decides how the file is cut into chunks. */
export type ContentKind = "code" | "prose" | "data" | "text";

/** Name of a grammar, as its package spells it. */
export type Grammar = SupportedLanguage;

export interface LanguageRow {
  readonly id: string;
  readonly grammar?: Grammar;
  /** `code` by default. */
  readonly kind?: ContentKind;
  /** Without the dot, in lower case. */
  readonly extensions?: string;
  /** Whole file names, in lower case. */
  readonly names?: string;
  /** Programs of a `#!` line, without version numbers. */
  readonly programs?: string;
  /** Where a component keeps its script (first group), which is read as TypeScript instead of the whole. */
  readonly script?: RegExp;
  /**
   * A key or table at the start of a top-level row, with the blanks around it, by which configuration is cut. No two
   * repetitions that stand side by side match the same character: rows of nothing but blanks would take the cube of their
   * length.
   */
  readonly keys?: RegExp;
  /** Its cells are cut one by one. */
  readonly isNotebook?: boolean;
  /** What the grammar cannot parse: replaced by spaces before parsing. */
  readonly unreadable?: RegExp;
}

const SCRIPT_ELEMENT = /<script\b[^>]*>([\s\S]*?)<\/script\s*>/gi;

/** An extension that several languages claim is listed under the most common one; `languages.ts` decides by the text. */
export const LANGUAGE_TABLE: readonly LanguageRow[] = [
  {
    id: "python",
    grammar: "python",
    extensions: "py pyi pyw pyx wsgi",
    names: "sconstruct sconscript wscript",
    programs: "python pypy",
  },
  { id: "starlark", grammar: "python", extensions: "bzl bazel star", names: "build workspace tiltfile buck" },
  { id: "typescript", grammar: "typescript", extensions: "ts mts cts", programs: "ts-node tsx deno bun" },
  { id: "tsx", grammar: "tsx", extensions: "tsx" },
  // The JavaScript grammar reads JSX too.
  {
    id: "javascript",
    grammar: "javascript",
    extensions: "js mjs cjs es6 jsm",
    names: "jakefile",
    programs: "node nodejs",
  },
  { id: "jsx", grammar: "javascript", extensions: "jsx" },
  { id: "go", grammar: "go", extensions: "go" },
  { id: "rust", grammar: "rust", extensions: "rs", programs: "rust-script" },
  { id: "java", grammar: "java", extensions: "java" },
  { id: "kotlin", grammar: "kotlin", extensions: "kt kts" },
  { id: "c", grammar: "c", extensions: "c h" },
  { id: "cpp", grammar: "cpp", extensions: "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp txx cppm ixx" },
  { id: "cuda", grammar: "cuda", extensions: "cu cuh" },
  { id: "arduino", grammar: "arduino", extensions: "ino" },
  { id: "objc", grammar: "objc", extensions: "m mm" },
  { id: "csharp", grammar: "c_sharp", extensions: "cs csx" },
  {
    id: "ruby",
    grammar: "ruby",
    extensions: "rb rake gemspec ru podspec jbuilder",
    names: "rakefile gemfile guardfile vagrantfile podfile fastfile brewfile capfile",
    programs: "ruby jruby rake",
  },
  { id: "php", grammar: "php", extensions: "php phtml php3 php4 php5 php7 inc", programs: "php" },
  {
    id: "swift",
    grammar: "swift",
    extensions: "swift",
    programs: "swift",
    // The grammar knows conditional directives in few places, and takes the rest of the file for an error.
    unreadable: /^[ \t]*#(?:if|elseif|else|endif)\b.*$/gm,
  },
  { id: "scala", grammar: "scala", extensions: "scala sc sbt mill" },
  { id: "elixir", grammar: "elixir", extensions: "ex exs", programs: "elixir" },
  { id: "erlang", grammar: "erlang", extensions: "erl hrl", programs: "escript" },
  { id: "haskell", grammar: "haskell", extensions: "hs", programs: "runhaskell runghc" },
  { id: "lua", grammar: "lua", extensions: "lua rockspec", programs: "lua luajit" },
  { id: "zig", grammar: "zig", extensions: "zig zon" },
  {
    id: "bash",
    grammar: "bash",
    extensions: "sh bash zsh ksh bats ebuild command",
    names: ".bashrc .bash_profile .bash_aliases .profile .zshrc .zshenv .envrc pkgbuild",
    programs: "sh bash zsh ksh dash ash bats",
  },
  { id: "sql", grammar: "sql", extensions: "sql ddl dml psql pgsql mysql" },
  { id: "css", grammar: "css", extensions: "css pcss postcss" },
  // No grammar for these: they are cut at blank lines.
  { id: "scss", extensions: "scss sass" },
  { id: "less", extensions: "less" },
  { id: "fish", extensions: "fish", programs: "fish" },
  { id: "fsharp", extensions: "fs fsi fsx" },
  { id: "vb", extensions: "vb bas vbs" },
  { id: "pascal", extensions: "pas pp dpr lpr" },
  { id: "crystal", extensions: "cr", programs: "crystal" },
  { id: "coffeescript", extensions: "coffee litcoffee", programs: "coffee" },
  { id: "tcl", extensions: "tcl", programs: "tclsh wish" },
  { id: "verilog", extensions: "v sv svh vh" },
  { id: "vhdl", extensions: "vhd vhdl" },
  { id: "wgsl", extensions: "wgsl" },
  { id: "hlsl", extensions: "hlsl fx fxh" },
  { id: "thrift", extensions: "thrift" },
  { id: "dart", grammar: "dart", extensions: "dart" },
  { id: "perl", grammar: "perl", extensions: "pl pm t psgi", programs: "perl" },
  { id: "julia", grammar: "julia", extensions: "jl", programs: "julia" },
  { id: "r", grammar: "r", extensions: "r", names: ".rprofile", programs: "rscript" },
  { id: "matlab", grammar: "matlab", extensions: "mlx" },
  { id: "ocaml", grammar: "ocaml", extensions: "ml", programs: "ocaml" },
  { id: "ocaml-interface", grammar: "ocaml_interface", extensions: "mli" },
  { id: "rescript", grammar: "rescript", extensions: "res resi" },
  { id: "elm", grammar: "elm", extensions: "elm" },
  { id: "gleam", grammar: "gleam", extensions: "gleam" },
  { id: "nim", grammar: "nim", extensions: "nim nims nimble" },
  { id: "d", grammar: "d", extensions: "d di" },
  { id: "ada", grammar: "ada", extensions: "adb ads" },
  { id: "fortran", grammar: "fortran", extensions: "f f90 f95 f03 f08 for" },
  {
    id: "groovy",
    grammar: "groovy",
    extensions: "groovy gradle gvy",
    names: "jenkinsfile",
    programs: "groovy",
  },
  { id: "clojure", grammar: "clojure", extensions: "clj cljs cljc edn bb", programs: "bb" },
  { id: "commonlisp", grammar: "commonlisp", extensions: "lisp lsp cl asd", programs: "sbcl" },
  { id: "elisp", grammar: "elisp", extensions: "el" },
  { id: "scheme", grammar: "scheme", extensions: "scm ss sld" },
  { id: "racket", grammar: "racket", extensions: "rkt", programs: "racket" },
  { id: "powershell", grammar: "powershell", extensions: "ps1 psm1 psd1", programs: "pwsh" },
  { id: "batch", extensions: "bat cmd" },
  { id: "vim", grammar: "vim", extensions: "vim", names: ".vimrc" },
  { id: "gdscript", grammar: "gdscript", extensions: "gd" },
  { id: "glsl", grammar: "glsl", extensions: "glsl vert frag geom comp tesc tese" },
  { id: "solidity", grammar: "solidity", extensions: "sol" },
  { id: "asm", grammar: "asm", extensions: "asm s" },
  { id: "qml", grammar: "qmljs", extensions: "qml" },
  { id: "templ", grammar: "templ", extensions: "templ" },
  { id: "proto", grammar: "proto", extensions: "proto" },
  { id: "graphql", grammar: "graphql", extensions: "graphql gql graphqls" },
  { id: "prisma", grammar: "prisma", extensions: "prisma" },
  { id: "hcl", grammar: "hcl", extensions: "hcl nomad" },
  { id: "terraform", grammar: "terraform", extensions: "tf tfvars" },
  { id: "nix", grammar: "nix", extensions: "nix" },
  { id: "cmake", grammar: "cmake", extensions: "cmake", names: "cmakelists.txt" },
  {
    id: "make",
    grammar: "make",
    extensions: "mk mak make",
    names: "makefile gnumakefile bsdmakefile",
    programs: "make",
  },
  { id: "just", grammar: "just", extensions: "just", names: "justfile .justfile" },
  {
    id: "dockerfile",
    grammar: "dockerfile",
    extensions: "dockerfile containerfile",
    names: "dockerfile containerfile",
  },
  { id: "vue", grammar: "vue", extensions: "vue", script: SCRIPT_ELEMENT },
  { id: "svelte", grammar: "svelte", extensions: "svelte", script: SCRIPT_ELEMENT },
  { id: "astro", grammar: "astro", extensions: "astro", script: /^\uFEFF?---\r?\n([\s\S]*?)^---/gm },
  { id: "razor", extensions: "razor cshtml" },
  {
    id: "template",
    extensions: "erb ejs eex heex leex hbs mustache twig jinja jinja2 j2 liquid haml slim pug tmpl",
  },
  { id: "markdown", kind: "prose", extensions: "md markdown mdx mkd mkdn qmd rmd mdc" },
  { id: "rst", kind: "prose", extensions: "rst rest" },
  { id: "asciidoc", kind: "prose", extensions: "adoc asciidoc asc" },
  { id: "org", kind: "prose", extensions: "org" },
  { id: "html", kind: "prose", extensions: "html htm xhtml" },
  { id: "latex", kind: "prose", extensions: "tex ltx sty cls" },
  { id: "typst", kind: "prose", extensions: "typ" },
  { id: "pod", kind: "prose", extensions: "pod" },
  {
    id: "text",
    kind: "prose",
    extensions: "txt text",
    names: "license licence copying readme changelog authors contributors notice news todo install",
  },
  { id: "notebook", grammar: "json", extensions: "ipynb", isNotebook: true },
  {
    id: "json",
    grammar: "json",
    kind: "data",
    extensions: "json jsonc json5 geojson webmanifest code-workspace map har",
    names: ".babelrc .eslintrc .prettierrc .swcrc composer.lock pipfile.lock",
  },
  { id: "jsonl", kind: "data", extensions: "jsonl ndjson" },
  {
    id: "yaml",
    kind: "data",
    extensions: "yaml yml",
    names: ".clang-format .clang-tidy .clangd",
    keys: /^(?:(?:"([^"]+)"|'([^']+)')\s*|([\w$./@-][^\s:#][^:#]*|[\w$./@-]\s*)):(?:\s|$)/,
  },
  {
    id: "toml",
    kind: "data",
    extensions: "toml",
    names: "cargo.lock poetry.lock pipfile uv.lock",
    keys: /^\s*\[{1,2}([^\]]+)\]/,
  },
  {
    id: "ini",
    kind: "data",
    extensions: "ini cfg conf properties editorconfig service desktop",
    names: ".gitconfig .gitmodules .npmrc .flake8 .pylintrc",
    keys: /^\s*\[([^\]]+)\]/,
  },
  {
    id: "xml",
    kind: "data",
    extensions: "xml xsd xsl xslt svg plist csproj vbproj fsproj props targets resx xaml pom wsdl",
  },
  { id: "csv", kind: "data", extensions: "csv tsv psv" },
  { id: "diff", kind: "text", extensions: "diff patch" },
];
