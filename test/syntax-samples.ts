/** A few lines of each language, and how they are cut into small chunks. */
export interface Sample {
  readonly path: string;
  readonly language: string;
  readonly source: string;
  /** `first-last name | defines` */
  readonly chunks: readonly string[];
}

export const SAMPLES: readonly Sample[] = [
  {
    path: "a.py",
    language: "python",
    source: `"""Doc."""
import os

LIMIT = 3

# about a
@deco(1)
def a(x):
    def inner():
        pass
    return x

class B(Base):
    """Doc."""
    field: int = 1

    @property
    def m(self):
        return 1

    async def n(self): ...

if True:
    def c(): pass
`,
    chunks: ["1-4 LIMIT | LIMIT", "6-11 a | a", "13-21 B | B m n", "23-24 c | c"],
  },
  {
    path: "a.ts",
    language: "typescript",
    source: `import x from "x";

/** about */
export const a = (x: number) => {
  return x;
};
export default function b() {}
export abstract class C<T> extends D {
  field = 1;
  @dec() private m(): void {}
  get p() { return 1; }
}
interface I { a: string; f(): void }
type T = string;
enum E { A, B }
declare module "m" { export function z(): void; }
namespace N { export const q = 1; }
export { a as k };
function over(a: string): void;
`,
    chunks: ["1-6 a | a", "7-12 C | b C m", "13-16 I | I T E z f", "17-19 N | N over q"],
  },
  {
    path: "a.tsx",
    language: "tsx",
    source: `export const App = () => <div>hi</div>;
export default class X extends React.Component { render() { return <p/>; } }
`,
    chunks: ["1-2 App | App X render"],
  },
  {
    path: "a.js",
    language: "javascript",
    source: `const a = require("a");
function b() {}
class C { #p = 1; static m() {} constructor() {} }
module.exports.d = function () {};
exports.e = () => {};
B.prototype.f = function f() {};
const { g, h } = a;
var i = 1, j = 2;
export const o = { k() {}, l: 1 };
`,
    chunks: ["1-3 b | b C m constructor", "4-6 d | d e", "7-9 g | g h i j o k"],
  },
  {
    path: "a.go",
    language: "go",
    source: `package p

import "fmt"

const (
	A = 1
	B = 2
)

var V int

// F does.
func F() {}

func (s *Store[T]) Open(x int) error { return nil }

type Store[T any] struct {
	a int
}

type (
	X int
	Y interface { M() }
)
`,
    chunks: ["1-3  | ", "5-8 A | A B", "10-13 V | V F", "15-19 Store | Open Store", "21-24 X | X Y M"],
  },
  {
    path: "a.rs",
    language: "rust",
    source: `use std::fmt;

#[derive(Debug)]
pub struct S<T> { a: T }

/// doc
impl<T> fmt::Display for S<T> {
    const K: u8 = 1;
    fn fmt(&self) {}
}

pub trait Tr { fn a(&self); type X; }
enum E { A, B(u8) }
mod m {
    pub fn f() {}
}
const C: u8 = 1;
static ST: u8 = 1;
type Al = u8;
macro_rules! mac { () => {} }
union U { a: u8 }
`,
    chunks: ["1-4 S | S", "6-10 S | S K fmt", "12-16 m | Tr E m a X f", "17-21 C | C ST Al mac U"],
  },
  {
    path: "A.java",
    language: "java",
    source: `package p;
import a.b;

/** doc */
@Ann
public class A<T> extends B {
  private int f = 1, g;
  public A() {}
  @Override public void m() {}
  class In { void x() {} }
}
interface I { void i(); int K = 1; }
enum E { P, Q; void e() {} }
record R(int a) {}
@interface An { int v(); }
`,
    chunks: ["1-2  | ", "4-11 A | A m In x", "12-15 I | I E R An i e v"],
  },
  {
    path: "a.kt",
    language: "kotlin",
    source: `package p

import a.b

class A(val x: Int) : B() {
    val f = 1
    fun m() {}
    companion object { const val K = 1 }
    constructor(y: String) : this(1)
}
object O { fun o() {} }
interface I { fun i() }
fun <T> String.ext(): Int = 1
val top = 1
typealias T = Int
enum class E { A, B }
data class D(val z: Int)
`,
    chunks: ["1-3  | ", "5-10 A | A m", "11-13 O | O I ext o i", "14-17 top | top T E D"],
  },
  {
    path: "a.c",
    language: "c",
    source: `#include <a.h>
#define MAX 3
#define F(x) (x)
static int g = 1, *h;
/* doc */
static char *f(int a)
{
  return 0;
}
int proto(void);
struct s { int a; };
typedef struct { int b; } t;
enum e { A, B };
union u { int a; };
typedef int (*fp)(int);
#ifdef X
int in_ifdef(void) { return 1; }
#else
int in_else(void) { return 1; }
#endif
int arr[3] = {1};
`,
    chunks: [
      "1-4 MAX | MAX F g",
      "5-9 f | f",
      "10-12 proto | proto s t",
      "13-15 e | e u fp",
      "16-21 in_ifdef | in_ifdef in_else arr",
    ],
  },
  {
    path: "a.cpp",
    language: "cpp",
    source: `namespace a::b {
template <typename T>
class C : public D {
 public:
  C();
  ~C() {}
  int m(int x) const { return 1; }
  static int s;
  bool operator==(const C& o);
};
int C::m2() { return 1; }
T& ns::C<T>::m3() { return 1; }
enum class E { A };
using X = int;
}
extern "C" { void ex() {} }
struct S { int f; };
template <class T> concept Co = true;
auto lam = [](int a) { return a; };
C::~C() {}
C::operator bool() const { return 1; }
`,
    chunks: [
      "1-1  | ",
      "2-10 C | C ~C m operator==",
      "11-15 C.m2 | m2 m3 E X",
      "16-18 ex | ex S Co",
      "19-21 lam | lam ~C operator bool",
    ],
  },
  {
    path: "a.cs",
    language: "csharp",
    source: `using System;
namespace A.B;
[Attr]
public class C : D {
  int f = 1;
  public int P { get; set; }
  public C() {}
  void M<T>() {}
  event Action Ev;
  class In {}
  public static C operator +(C a, C b) => a;
  public int this[int i] => 1;
  delegate void Del();
  enum E { X }
}
interface I { void Q(); }
struct S {}
record R(int A);
`,
    chunks: ["1-4 C | C", "5-9 C.P | P C M", "10-12 C.In | In", "13-15 C.Del | Del E", "16-18 I | I S R Q"],
  },
  {
    path: "a.rb",
    language: "ruby",
    source: `require "a"

# doc
module M
  K = 1
  class C < B::D
    attr_reader :x
    def m(a)
    end
    def self.s; end
    class << self
      def t; end
    end
  end
end
class A::B; end
def top; end
`,
    chunks: ["1-5 M | M K", "6-10 M.C | C m s", "11-15 M.C.t | t", "16-17 B | B top"],
  },
  {
    path: "a.php",
    language: "php",
    source: `<?php
namespace A\\B;

use X;

const K = 1;
#[Attr]
abstract class C extends D {
    const Z = 1;
    private $f = 1;
    public function m(): int { return 1; }
}
interface I { function i(); }
trait T { function t() {} }
enum E: string { case A = 'a'; }
function top() {}
`,
    chunks: ["1-6 K | K", "7-12 C | C Z m", "13-16 I | I T E top i t"],
  },
  {
    path: "a.swift",
    language: "swift",
    source: `import A

/// doc
@objc public class C: D {
    let f = 1
    init(a: Int) {}
    func m() {}
    var p: Int { return 1 }
    deinit {}
    subscript(i: Int) -> Int { 1 }
}
struct S {}
enum E { case a, b }
protocol P { func q() }
extension C: P { func r() {} }
func top() {}
let K = 1
typealias T = Int
`,
    chunks: ["1-1  | ", "3-11 C | C init m", "12-15 S | S E P C q r", "16-18 top | top K T"],
  },
  {
    path: "a.scala",
    language: "scala",
    source: `package a.b

import x.y

/** doc */
class C(a: Int) extends D {
  val f = 1
  def m(): Int = 1
}
object O { def o = 1 }
trait T[F[_]] { def t: Int }
case class CC(a: Int)
enum E { case A }
given g: Int = 1
type Al = Int
def top = 1
implicit val iv: Int = 1
extension (s: String) def ext = 1
`,
    chunks: ["1-3  | ", "5-9 C | C m", "10-14 O | O T CC E g o t", "15-18 Al | Al top iv ext"],
  },
  {
    path: "a.ex",
    language: "elixir",
    source: `defmodule A.B do
  @moduledoc "x"
  use X

  @attr 1

  @doc "d"
  @spec f(integer) :: integer
  def f(x) when x > 1 do
    x
  end
  def f(y), do: y
  defp p, do: 1
  defmacro m(a), do: a
  defstruct [:a]
  defmodule In do
    def i, do: 1
  end
end
defprotocol P do
  def q(x)
end
defimpl P, for: Integer do
  def q(x), do: x
end
`,
    chunks: [
      "1-5 B | B",
      "7-11 B.f | f",
      "12-15 B.f | f p m",
      "16-19 B.In | In i",
      "20-22 P | P q",
      "23-25 P | P q",
    ],
  },
  {
    path: "A.hs",
    language: "haskell",
    source: `module A.B (f) where

import X

-- | doc
data D a = D1 { fld :: Int } | D2
  deriving Show

newtype N = N Int
type T = Int

class C a where
  m :: a -> a

instance C Int where
  m x = x

f :: Int -> Int
f 0 = 1
f n = n

k = 3

a <+> b = a
`,
    chunks: ["1-3  | ", "5-10 D | D N T", "12-16 C | C m", "18-20 f | f", "22-24 k | k <+>"],
  },
  {
    path: "a.lua",
    language: "lua",
    source: `local M = {}
local x, y = 1, 2
--- doc
function M.f(a) end
function M:g() end
local function h() end
M.k = function() end
M.t = { a = function() end }
function top() end
return M
`,
    chunks: ["1-5 M | M x y f g", "6-10 h | h top k a"],
  },
  {
    path: "a.zig",
    language: "zig",
    source: `const std = @import("std");

/// doc
pub fn f(a: u8) void {}

pub const S = struct {
    a: u8,
    pub fn m(self: S) void { _ = self; }
};
var g: u8 = 1;
test "name" {}
const E = enum { a, b };
`,
    chunks: ["1-4 std | std f", "6-9 S | S m", "10-12 g | g E"],
  },
  {
    path: "a.sh",
    language: "bash",
    source: `#!/bin/bash
set -e

X=1
# doc
f() {
  echo 1
}
function g { echo; }
readonly Y=2
export Z=1
f "$X"
`,
    chunks: ["1-4 X | X", "5-8 f | f", "9-12 g | g Y Z"],
  },
  {
    path: "a.sql",
    language: "sql",
    source: `-- doc
CREATE TABLE IF NOT EXISTS s.users (
  id INT PRIMARY KEY
);
CREATE INDEX idx ON users (id);
CREATE VIEW v AS SELECT 1;
CREATE FUNCTION fn(a INT) RETURNS INT AS $$ SELECT 1 $$ LANGUAGE sql;
INSERT INTO users VALUES (1);
ALTER TABLE users ADD COLUMN a INT;
CREATE TYPE mood AS ENUM ('a');
`,
    chunks: ["1-5 s.users | users idx", "6-7 v | v fn", "8-10 mood | mood"],
  },
  {
    path: "a.css",
    language: "css",
    source: `@import "a";
:root { --x: 1; }
/* doc */
.a, #b > p:hover { color: red }
@media (min-width: 1px) {
  .c { color: red }
}
@keyframes kf { from { a: b } }
`,
    chunks: ["1-4 :root | :root .a, #b > p:hover", "5-8 .c | .c kf"],
  },
  {
    path: "a.dart",
    language: "dart",
    source: `import 'a';
class C extends D {
  int f = 1;
  C(this.f);
  void m() {}
  get p => 1;
}
mixin M {}
enum E { a }
extension X on C { void x() {} }
void top() {}
const k = 1;
typedef T = int;
`,
    chunks: ["1-7 C | C m p", "8-10 M | M E X x", "11-13 top | top T"],
  },
  {
    path: "a.pl",
    language: "perl",
    source: `package A::B;
use strict;
my $x = 1;

# doc
sub f {
  return 1;
}
our $y = 2;
package C { sub g { } }
`,
    chunks: ["1-3 A.B | B", "5-10 f | f C g"],
  },
  {
    path: "a.jl",
    language: "julia",
    source: `module M
export f
const K = 1
struct S
  a
end
function f(x)
  x
end
g(x) = x
macro m(e)
end
abstract type A end
end
`,
    chunks: ["1-3 M | M K", "4-6 M.S | S", "7-10 M.f | f g", "11-14 M.m | m A"],
  },
  {
    path: "a.r",
    language: "r",
    source: `library(x)
# doc
f <- function(a) {
  a
}
g = function() 1
k <- 3
`,
    chunks: ["1-5 f | f", "6-7 g | g k"],
  },
  {
    path: "a.ml",
    language: "ocaml",
    source: `open X
let f x = x
let rec g y = y
module M = struct
  let h = 1
end
type t = A | B
module type S = sig val x : int end
class c = object method m = 1 end
exception E
`,
    chunks: ["1-3 f | f g", "4-7 M | M t h", "8-10 S | S c E x m"],
  },
  {
    path: "a.proto",
    language: "proto",
    source: `syntax = "proto3";
package p;
message M {
  string a = 1;
  message In { }
}
enum E { A = 0; }
service S {
  rpc R (M) returns (M);
}
`,
    chunks: ["1-2  | ", "3-6 M | M In", "7-10 S | E S R"],
  },
  {
    path: "a.graphql",
    language: "graphql",
    source: `type T { a: String }
input I { a: Int }
enum E { A }
interface N { a: Int }
union U = A | B
scalar D
query Q { a }
fragment F on T { a }
extend type T { b: Int }
directive @d on FIELD
`,
    chunks: ["1-4 T | T I E N", "5-7 U | U D Q", "8-10 F | F T d"],
  },
  {
    path: "a.tf",
    language: "terraform",
    source: `variable "x" {
  default = 1
}
resource "aws_x" "y" {
  a = 1
}
locals { a = 1 }
`,
    chunks: ["1-7 variable.x | x y locals"],
  },
  {
    path: "a.erl",
    language: "erlang",
    source: `-module(a).
-export([f/1]).
-define(M, 1).
-record(r, {a}).
%% doc
f(1) -> 1;
f(X) -> X.
g() -> 1.
`,
    chunks: ["1-4 M | M r", "5-8 f | f g"],
  },
  {
    path: "a.clj",
    language: "clojure",
    source: `(ns a.b)
(def x 1)
(defn f "doc" [a] a)
(defmacro m [] 1)
(defprotocol P (q [a]))
`,
    chunks: ["1-5 a.b | b x f m P"],
  },
  {
    path: "a.m",
    language: "objc",
    source: `#import "a.h"
@interface C : NSObject
@property int a;
- (void)m:(int)x;
@end
@implementation C
- (void)m:(int)x { }
+ (int)s { return 1; }
@end
int top(void) { return 1; }
`,
    chunks: ["1-5 C | C m", "6-10 C | C top m s"],
  },
  {
    path: "a.sol",
    language: "solidity",
    source: `contract C { uint a; function f() public { } event E(); modifier m() { _; } }
interface I { function g() external; }
library L { }
struct S { uint a; }
`,
    chunks: ["1-1 C | C f E m", "2-4 I | I L S g"],
  },
  {
    path: "Makefile",
    language: "make",
    source: `X = 1
all: a b
	echo

a:
	echo a
`,
    chunks: ["1-3 all | X all", "5-6 a | a"],
  },
  {
    path: "a.elm",
    language: "elm",
    source: `module A exposing (..)

type T = A | B
type alias R = { a : Int }
f : Int -> Int
f x = x
`,
    chunks: ["1-3 T | T", "4-6 R | R f"],
  },
];
