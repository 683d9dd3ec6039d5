import { describe, expect, test } from "vitest";
import { graphOf, type SourceTexts, usesOf } from "../../test/graph-of.ts";
import { DESCRIBED_LANGUAGES, familyOf, rulesOf } from "./languages/all.ts";
import { generic } from "./rules/generic.ts";

interface Case {
  readonly name: string;
  readonly files: SourceTexts;
  readonly symbol: string;
  readonly uses: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "Java: imports, same package, fields, inheritance, static imports",
    files: {
      "src/a/Store.java":
        "package a;\npublic class Store extends Base {\n  public Item first() { return null; }\n  public static void log() {}\n}\n",
      "src/a/Base.java": "package a;\nclass Base { void flush() {} }\n",
      "src/a/Item.java": "package a;\npublic class Item { public void mark() {} }\n",
      "src/b/App.java":
        "package b;\nimport a.Store;\nimport static a.Store.log;\nclass App {\n  private final Store store = new Store();\n  void run(int first) {\n    store.first().mark();\n    log();\n    var other = store.first();\n    other.mark();\n  }\n}\n",
    },
    symbol: "Item.mark",
    uses: ["src/b/App.java:7", "src/b/App.java:10"],
  },
  {
    name: "Java: what a class inherits is called by plain name",
    files: {
      "a/Base.java": "package a;\npublic class Base { protected void flushAll() {} }\n",
      "b/Child.java": "package b;\nimport a.Base;\nclass Child extends Base { void go() { flushAll(); } }\n",
    },
    symbol: "flushAll",
    uses: ["b/Child.java:3"],
  },
  {
    name: "Java: two classes of one name in two packages",
    files: {
      "a/Store.java": "package a;\npublic class Store { public void open() {} }\n",
      "b/Store.java": "package b;\npublic class Store { public void open() {} }\n",
      "c/App.java": "package c;\nimport b.Store;\nclass App { void run(Store s) { s.open(); } }\n",
    },
    symbol: "b/Store.java:open",
    uses: ["c/App.java:3"],
  },
  {
    name: "Go: packages by folder and go.mod, methods in another file, embedded structs",
    files: {
      "go.mod": "module example.com/app\n",
      "store/store.go": "package store\ntype Store struct { base }\nfunc New() *Store { return &Store{} }\n",
      "store/base.go": "package store\ntype base struct{}\nfunc (b *base) Flush() {}\n",
      "main.go":
        'package main\nimport "example.com/app/store"\nfunc main() {\n\ts := store.New()\n\ts.Flush()\n}\n',
    },
    symbol: "base.Flush",
    uses: ["main.go:5"],
  },
  {
    name: "Go: a parameter hides a function of the package",
    files: {
      "a.go": "package a\nfunc size() int { return 1 }\nfunc f(size int) int { return size }\n",
      "b.go": "package a\nfunc g() int { return size() }\n",
    },
    symbol: "size",
    uses: ["b.go:2"],
  },
  {
    name: "Rust: use trees, modules, methods of impl blocks",
    files: {
      "src/lib.rs": "mod store;\nmod app;\npub use store::Store;\n",
      "src/store.rs":
        "pub struct Store;\nimpl Store {\n    pub fn make() -> Self { Store }\n    pub fn flush_all(&self) {}\n}\n",
      "src/app.rs":
        "use crate::store::{Store as Kept};\npub fn run(given: &Kept) {\n    given.flush_all();\n    let made = Kept::make();\n    made.flush_all();\n}\n",
    },
    symbol: "Store.flush_all",
    uses: ["src/app.rs:3", "src/app.rs:5"],
  },
  {
    name: "Rust: a re-export of the crate",
    files: {
      "src/lib.rs": "mod store;\npub mod app;\npub use store::Store;\n",
      "src/store.rs": "pub struct Store;\n",
      "src/app.rs": "use crate::Store;\npub fn run(_given: Store) {}\n",
    },
    symbol: "Store",
    uses: ["src/app.rs:1", "src/app.rs:2", "src/lib.rs:3"],
  },
  {
    name: "Kotlin: constructor properties, extension functions",
    files: {
      "a/Store.kt":
        "package a\nclass Store(val item: Item) { fun first(): Item = item }\nclass Item { fun mark() {} }\nfun Store.twice() { first().mark() }\n",
      "b/App.kt":
        "package b\nimport a.Store\nfun run(store: Store) {\n    store.item.mark()\n    store.twice()\n}\n",
    },
    symbol: "Item.mark",
    uses: ["a/Store.kt:4", "b/App.kt:4"],
  },
  {
    name: "C#: namespaces, properties, partial classes",
    files: {
      "Store.cs": "namespace A { public partial class Store { public Item First { get; set; } } }\n",
      "StoreMore.cs": "namespace A { public partial class Store { public void FlushAll() {} } }\n",
      "Item.cs": "namespace A { public class Item { public void MarkIt() {} } }\n",
      "App.cs":
        "using A;\nclass App {\n  void Run(Store store) {\n    store.FlushAll();\n    store.First.MarkIt();\n  }\n}\n",
    },
    symbol: "Store.FlushAll",
    uses: ["App.cs:4"],
  },
  {
    name: "C: a prototype and its body are one symbol",
    files: {
      "store.h": "int store_open(int mode);\n",
      "store.c":
        '#include "store.h"\nstatic int helper(void) { return 1; }\nint store_open(int mode) { return helper(); }\n',
      "main.c": '#include "store.h"\nint main(void) { return store_open(1); }\n',
    },
    symbol: "store_open",
    uses: ["main.c:2"],
  },
  {
    name: "C++: methods outside of their class, members by pointer",
    files: {
      "store.hpp": "class Store { public: void flush_all(); int size_; };\n",
      "store.cpp": '#include "store.hpp"\nvoid Store::flush_all() { size_ = 1; }\n',
      "main.cpp": '#include "store.hpp"\nvoid run(Store* s) { s->flush_all(); }\n',
    },
    symbol: "Store.flush_all",
    uses: ["main.cpp:2"],
  },
  {
    name: "Ruby: classes in modules, instance variables, mixins",
    files: {
      "store.rb": "module Kept\n  class Store\n    def flush_all; end\n  end\nend\n",
      "app.rb":
        'require_relative "store"\nclass App\n  def initialize\n    @store = Kept::Store.new\n  end\n  def run\n    @store.flush_all\n  end\nend\n',
    },
    symbol: "flush_all",
    uses: ["app.rb:7"],
  },
  {
    name: "PHP: namespaces, promoted properties, static calls",
    files: {
      "src/Store.php":
        "<?php\nnamespace A;\nclass Store { public static function make(): static { return new static; } public function flushAll(): void {} }\n",
      "src/App.php":
        "<?php\nnamespace B;\nuse A\\Store as Kept;\nclass App {\n  public function __construct(private Kept $store) {}\n  public function run(): void {\n    $this->store->flushAll();\n    Kept::make()->flushAll();\n  }\n}\n",
    },
    symbol: "Store.flushAll",
    uses: ["src/App.php:7", "src/App.php:8"],
  },
  {
    name: "Swift: extensions and types of properties",
    files: {
      "Store.swift": "class Store { func flushAll() {} }\n",
      "More.swift": "extension Store { func again() { self.flushAll() } }\n",
      "App.swift": "class App {\n  let store: Store = Store()\n  func run() { store.again() }\n}\n",
    },
    symbol: "again",
    uses: ["App.swift:3"],
  },
  {
    name: "Scala: packages, traits, values",
    files: {
      "a/Store.scala": "package a\ntrait Base { def flushAll(): Unit = {} }\nclass Store extends Base\n",
      "b/App.scala":
        "package b\nimport a.Store\nclass App(val store: Store) { def run(): Unit = { store.flushAll() } }\n",
    },
    symbol: "Base.flushAll",
    uses: ["b/App.scala:3"],
  },
  {
    name: "Lua: a module is the table that its file returns",
    files: {
      "lua/app/store.lua": "local M = {}\nfunction M.open(path) return path end\nreturn M\n",
      "lua/app/main.lua":
        'local store = require("app.store")\nstore.open(1)\nlocal function go() return require("app.store").open(2) end\nlocal open = 1\nprint(open)\n',
    },
    symbol: "M.open",
    uses: ["lua/app/main.lua:2", "lua/app/main.lua:3"],
  },
  {
    name: "Lua: what a returned table lists, from a folder's init file",
    files: {
      "lib/init.lua": "local function open_all() end\nreturn { open = open_all, shut = function() end }\n",
      "main.lua": 'local lib = require "lib"\nlib.open()\n',
    },
    symbol: "open_all",
    uses: ["lib/init.lua:2", "main.lua:2"],
  },
  {
    name: "Lua: tables of one name in two files are two tables",
    files: {
      "a.lua": "local H = {}\nH.check = function() end\nH.check()\n",
      "b.lua": "local H = {}\nfunction H.check() end\nH.check()\n",
    },
    symbol: "a.lua:H.check",
    uses: ["a.lua:3"],
  },
  {
    name: "Lua: methods through self, instances and metatables",
    files: {
      "base.lua": "local Base = {}\nfunction Base:flush_all() end\nreturn Base\n",
      "store.lua":
        'local Base = require("base")\nlocal Store = setmetatable({}, { __index = Base })\nfunction Store.new()\n  local self = setmetatable({}, Store)\n  return self\nend\nfunction Store:close() self:flush_all() end\nlocal s = Store.new()\ns:flush_all()\nreturn Store\n',
    },
    symbol: "Base.flush_all",
    uses: ["store.lua:7", "store.lua:9"],
  },
  {
    name: "Lua: globals, fields of tables, and locals that hide them",
    files: {
      "a.lua": "Config = { depth = 1 }\nlocal function f(Config) return Config.depth end\n",
      "b.lua": "print(Config.depth)\nlocal depth = 2\nprint(depth)\n",
    },
    symbol: "Config",
    uses: ["b.lua:1"],
  },
  {
    name: "others: by plain name within one language",
    files: {
      "a.gd": "func open_all(a):\n\treturn a\n",
      "b.gd": "func go():\n\topen_all(1)\n",
      "c.sh": "open_all 1\n",
    },
    symbol: "open_all",
    uses: ["b.gd:2"],
  },
  {
    name: "Zig: imports by path and by module, also through another file; members of types",
    files: {
      "clap.zig":
        'pub const args = @import("clap/args.zig");\npub fn parse() void {}\nfn hidden() void {}\ntest { hidden(); }\n',
      "clap/args.zig":
        "pub const Slice = struct {\n    index: usize = 0,\n    pub fn next(s: *Slice) ?u8 {\n        return s.index;\n    }\n};\n",
      "example/app.zig":
        'pub fn main() void {\n    var it = clap.args.Slice{ .index = 1 };\n    while (it.next()) |_| clap.parse();\n    clap.hidden();\n}\nconst clap = @import("clap");\n',
    },
    symbol: "Slice.next",
    uses: ["example/app.zig:3"],
  },
  {
    name: "Zig: a function that returns a type has its members; modifiers before a type are not part of it",
    files: {
      "list.zig":
        "pub fn List(comptime T: type) type {\n    return struct {\n        items: []const T,\n        const Self = @This();\n        pub fn first(self: *const Self) T {\n            return self.items[0];\n        }\n    };\n}\n",
      "app.zig":
        'const lists = @import("list.zig");\nfn a(x: *const lists.List(u8)) u8 {\n    return x.first();\n}\nfn b(all: []const lists.List(u8)) void {\n    for (all) |one| _ = one.first();\n}\nfn first() void {}\n',
    },
    symbol: "list.zig:first",
    uses: ["app.zig:3", "app.zig:6"],
  },
  {
    name: "Zig: what `catch` and `else` name is the error, not the value",
    files: {
      "list.zig":
        "pub const List = struct {\n    pub fn first(self: List) u8 {\n        return 1;\n    }\n};\n",
      "app.zig":
        'const lists = @import("list.zig");\nfn a(x: lists.List) void {\n    if (x) |some| _ = some.first() else |err| _ = err.first();\n    _ = x catch |err|\n        err.first();\n}\nfn b(x: lists.List) void {\n    if (x) |some| {\n        _ = some.first();\n    } else |err| {\n        _ = err.first();\n    }\n}\n',
    },
    symbol: "list.zig:first",
    uses: ["app.zig:3", "app.zig:9"],
  },
  {
    name: "Zig: what is not public cannot be named by other files, and plain names are those of the file",
    files: {
      "a.zig": "fn size() u8 {\n    return 1;\n}\nconst total = size();\n",
      "b.zig": 'const a = @import("a.zig");\nfn f(size: u8) u8 {\n    return size + a.size();\n}\n',
    },
    symbol: "a.zig:size",
    uses: ["a.zig:4"],
  },
  {
    name: "Zig: fields of initializers and of values, and members of enums and errors",
    files: {
      "a.zig":
        "const Names = struct { short: u8 };\nconst Kind = enum { one, two };\nfn f(k: Kind) u8 {\n    const n = Names{ .short = 1 };\n    if (k == Kind.one) return n.short;\n    return 0;\n}\n",
    },
    symbol: "Names.short",
    uses: ["a.zig:4", "a.zig:5"],
  },
];

describe("REQ-R5 uses in other languages", () => {
  test.each(CASES)("$name", async ({ files, symbol, uses }) => {
    expect(usesOf(await graphOf(files), symbol)).toEqual(uses);
  });
});

test("a description replaces the common rules, and is part of the version of an index", () => {
  expect(rulesOf("zig")).not.toBe(generic);
  expect(familyOf("zig").reach).toBe("file");
  expect(rulesOf("ada")).toBe(generic);
  expect(DESCRIBED_LANGUAGES.split(" ")).toContain("zig");
  expect(DESCRIBED_LANGUAGES.split(" ")).not.toContain("ada");
});
