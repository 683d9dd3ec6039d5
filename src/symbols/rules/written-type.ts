import { collectionOf, type Expression, FOREIGN, instanceOf, UNKNOWN } from "../extract/expression.ts";

/** Wrappers that are treated as what they contain, in any language. */
const TRANSPARENT =
  /^(?:Option|Optional|Box|Rc|Arc|RefCell|Cell|Mutex|RwLock|Pin|Cow|Result|Task|ValueTask|Future|CompletableFuture|Deferred|Nullable|Lazy|Provider|Supplier|Callable|Try|Either|unique_ptr|shared_ptr|weak_ptr|optional|Ref|Weak|IO|WeakReference|AtomicReference|ThreadLocal)$/;
const COLLECTION =
  /^(?:Vec|VecDeque|HashSet|BTreeSet|Slice|List|ArrayList|LinkedList|Set|LinkedHashSet|TreeSet|Collection|Iterable|Iterator|Queue|Deque|Stream|Array|Seq|Vector|IndexedSeq|MutableList|MutableSet|Sequence|Flow|IEnumerable|IList|ICollection|IReadOnlyList|IReadOnlyCollection|IQueryable|HashMap|BTreeMap|Map|LinkedHashMap|TreeMap|ConcurrentMap|ConcurrentHashMap|MutableMap|Dictionary|IDictionary|ConcurrentDictionary|vector|deque|list|set|map|unordered_map|unordered_set|array|span|initializer_list)$/;
const PRIMITIVE =
  /^(?:int|long|short|byte|char|float|double|boolean|bool|void|string|String|str|u8|u16|u32|u64|u128|usize|i8|i16|i32|i64|i128|isize|f32|f64|Int|Long|Short|Byte|Char|Float|Double|Boolean|Bool|Unit|Void|Nothing|Integer|Number|CharSequence|size_t|ssize_t|int\d+_t|uint\d+_t|uint|ulong|ushort|sbyte|decimal|rune|uintptr|u?int(?:8|16|32|64)|float(?:32|64)|error|null|nil|none|false|mixed|array|callable|iterable|unsigned|signed)$/;
const OPEN = /^(?:var|auto|val|let|object|Object|dynamic|Any|AnyObject|any|interface\{\}|id|T|impl|dyn|_)$/;

const MAX_TYPE = 300;

/** Parts between commas that are not inside brackets. */
const split = (text: string): readonly string[] => {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "<" || character === "[" || character === "(") depth++;
    else if (character === ">" || character === "]" || character === ")") depth--;
    else if (character === "," && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
};

/** The expression for a value of a type that is written as in C-like and ML-like languages. */
export const writtenType = (written: string, depth = 4): Expression => {
  if (written.length > MAX_TYPE || depth === 0) return UNKNOWN;
  const text = written
    .replace(/'\w+\s*/g, "")
    .replace(
      /^(?:\s|[&*:?]|\b(?:mut|const|final|struct|class|enum|typename|dyn|impl|ref|out|in|readonly|static|volatile|unsigned|some|any|inout|params)\b)+/,
      "",
    )
    .replace(/(?:\s|[&*?!]|\bconst\b)+$/, "")
    .trim();
  if (/^(?:static|self)$/.test(written.trim())) return "this";
  if (text === "" || OPEN.test(text)) return UNKNOWN;
  if (PRIMITIVE.test(text)) return FOREIGN;
  const go = /^(?:\[\d*\]|\.\.\.|map\[[^\]]*\]|chan\s|<-chan\s)(.+)$/.exec(text);
  if (go !== null) return collectionOf(writtenType(go[1] ?? "", depth - 1));
  const array = /^(.+?)\s*(?:\[[^\]]*\]|\.\.\.)$/.exec(text);
  if (array !== null && !/[<(]/.test(array[2] ?? "")) {
    // Scala and Go write type arguments in square brackets.
    const named = /^([\w.]+)\[(.+)\]$/.exec(text);
    if (named === null) return collectionOf(writtenType(array[1] ?? "", depth - 1));
    return applied(named[1] ?? "", split(named[2] ?? ""), depth);
  }
  const swift = /^\[(?:[^\]:]+:)?([^\]]+)\]$/.exec(text);
  if (swift !== null) return collectionOf(writtenType(swift[1] ?? "", depth - 1));
  const generic = /^([\w.:\\$]+)\s*<(.*)>$/s.exec(text);
  if (generic !== null) return applied(generic[1] ?? "", split(generic[2] ?? ""), depth);
  const union = /^([\w\\]+)\s*\|/.exec(text);
  const path = (union?.[1] ?? text).replace(/::|\\/g, ".").replace(/^\./, "");
  if (/^(?:self|Self|static|this|this\.type)$/.test(path)) return "this";
  return /^[\w$.]+$/.test(path) ? instanceOf(path) : UNKNOWN;
};

const applied = (name: string, given: readonly string[], depth: number): Expression => {
  const path = name.replace(/::|\\/g, ".");
  const last = path.slice(path.lastIndexOf(".") + 1);
  if (TRANSPARENT.test(last))
    return writtenType(last === "Either" ? (given.at(-1) ?? "") : (given[0] ?? ""), depth - 1);
  if (COLLECTION.test(last)) return collectionOf(writtenType(given.at(-1) ?? "", depth - 1));
  return /^(?:Self|self)$/.test(last) ? "this" : instanceOf(path);
};
