import { describe, expect, test } from "vitest";
import { graphOf, type SourceTexts, usesOf } from "../../test/graph-of.ts";

interface Case {
  readonly name: string;
  readonly files: SourceTexts;
  readonly symbol: string;
  readonly uses: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "symbols as keys, in an object that is the module",
    files: {
      "lib/symbols.js": "const keys = {\n  kHeaders: Symbol('headers'),\n}\nmodule.exports = keys\n",
      "lib/reply.js":
        "const { kHeaders } = require('./symbols')\nfunction Reply () {\n  this[kHeaders] = {}\n}\nmodule.exports = Reply\n",
    },
    symbol: "kHeaders",
    uses: ["lib/reply.js:1", "lib/reply.js:3"],
  },
  {
    name: "constants as keys, in an object that is the module",
    files: {
      "lib/errors.js":
        "const codes = {\n  ERR_MEDIA_TYPE: createError('ERR_MEDIA_TYPE', 415),\n  limit: 3,\n}\nmodule.exports = codes\n",
      "lib/handle.js":
        "const { ERR_MEDIA_TYPE } = require('./errors')\nconst errors = require('./errors')\nnew ERR_MEDIA_TYPE()\nthrow errors.ERR_MEDIA_TYPE\n",
    },
    symbol: "ERR_MEDIA_TYPE",
    uses: ["lib/handle.js:1", "lib/handle.js:3", "lib/handle.js:4"],
  },
  {
    name: "constants as keys of the exported object itself",
    files: {
      "a.js": "module.exports = {\n  MAX_SIZE: 10,\n}\n",
      "b.js": "const { MAX_SIZE } = require('./a')\nif (size > MAX_SIZE) stop()\n",
    },
    symbol: "MAX_SIZE",
    uses: ["b.js:1", "b.js:2"],
  },
  {
    name: "a method by its full name on the prototype",
    files: {
      "reply.js":
        "function Reply () {}\nReply.prototype.send = function () {}\nReply.prototype.end = function () { this.send() }\n",
    },
    symbol: "Reply.prototype.send",
    uses: ["reply.js:3"],
  },
  {
    name: "a file, where it is imported",
    files: {
      "lib/hooks.js": "exports.run = () => {}\n",
      "lib/route.js": "const { run } = require('./hooks')\nrun()\n",
      "main.js": "const hooks = require('./lib/hooks.js')\nconst route = require('./lib/route')\n",
    },
    symbol: "./lib/hooks.js",
    uses: ["lib/route.js:1", "main.js:1"],
  },
  {
    name: "functions in the object that is exported",
    files: {
      "a.js": "module.exports = {\n  open () {},\n  close: function () {}\n}\n",
      "b.js": "const store = require('./a')\nconst { open } = require('./a')\nstore.open()\nopen()\n",
    },
    symbol: "open",
    uses: ["b.js:2", "b.js:3", "b.js:4"],
  },
  {
    name: "the one value of a module under another name, and what is exported beside it",
    files: {
      "a.js":
        "function build () {}\nfunction check () {}\nmodule.exports = build\nmodule.exports.check = check\n",
      "b.js": "const Build = require('./a')\nBuild()\nBuild.check()\nrequire('./a').check()\n",
    },
    symbol: "check",
    uses: ["a.js:4", "b.js:3", "b.js:4"],
  },
  {
    name: "a whole module that is called as it is required",
    files: {
      "package.json": '{ "name": "server", "main": "server.js" }',
      "server.js": "module.exports = function server () {\n  return { listen () {} }\n}\n",
      "test/a.js": "const app = require('..')()\napp.listen()\n",
    },
    symbol: "listen",
    uses: ["test/a.js:2"],
  },
  {
    name: "an instance that a function builds of functions from elsewhere",
    files: {
      "app.js":
        "const { close } = require('./close')\nfunction build () {\n  const app = {\n    addHook,\n    shut: close\n  }\n  return app\n  function addHook () {}\n}\nmodule.exports = build\n",
      "close.js": "exports.close = function () {}\n",
      "main.js":
        "const build = require('./app')\nconst app = build()\napp.addHook('x')\napp.shut()\nbuild().addHook()\n",
    },
    symbol: "addHook",
    uses: ["app.js:4", "main.js:3", "main.js:5"],
  },
  {
    name: "a function under the name of the property that holds it",
    files: {
      "app.js":
        "const { close } = require('./close')\nmodule.exports = function build () {\n  const app = { open () {}, shut: close }\n  return app\n}\n",
      "close.js": "exports.close = function () {}\n",
      "main.js": "const build = require('./app')\nbuild().shut()\n",
    },
    symbol: "close",
    uses: ["app.js:1", "app.js:3", "main.js:2"],
  },
  {
    name: "methods of a prototype, of this and of a parent",
    files: {
      "router.js":
        "const Base = require('./base')\nfunction Router () {\n  if (!(this instanceof Router)) return new Router()\n  this.on()\n}\nrequire('util').inherits(Router, Base)\nRouter.prototype.on = function on () {\n  this.stop()\n}\nmodule.exports = Router\n",
      "base.js": "function Base () {}\nBase.prototype = {\n  stop () {}\n}\nmodule.exports = Base\n",
      "main.js": "const router = require('./router')()\nrouter.on('a')\nrouter.stop()\n",
    },
    symbol: "Router.on",
    uses: ["main.js:2", "router.js:4"],
  },
  {
    name: "members that Object.assign and Object.defineProperty add",
    files: {
      "a.js":
        "const extra = { third () {} }\nclass Store {}\nObject.assign(Store.prototype, { first () {} }, extra)\nObject.defineProperty(Store.prototype, 'second', { value: function () {} })\nmodule.exports = { Store }\n",
      "b.js": "const { Store } = require('./a')\nconst s = new Store()\ns.first()\ns.second()\ns.third()\n",
    },
    symbol: "third",
    uses: ["b.js:5"],
  },
  {
    name: "a property that Object.defineProperty defines",
    files: {
      "a.js":
        "class Store {}\nObject.defineProperty(Store.prototype, 'second', { value: function () {} })\nmodule.exports = { Store }\n",
      "b.js": "const { Store } = require('./a')\nnew Store().second()\n",
    },
    symbol: "second",
    uses: ["b.js:2"],
  },
  {
    name: "an object that is spread into another",
    files: {
      "a.js": "const methods = { save () {} }\nconst store = { ...methods, load () {} }\nstore.save()\n",
    },
    symbol: "save",
    uses: ["a.js:3"],
  },
  {
    name: "a decorated instance",
    files: {
      "plugin.js":
        "module.exports = function (fastify, options, done) {\n  fastify.decorate('findUser', function (id) {})\n  done()\n}\n",
      "routes.js":
        "module.exports = async (fastify) => {\n  fastify.get('/', () => fastify.findUser(1))\n}\n",
    },
    symbol: "findUser",
    uses: ["routes.js:2"],
  },
  {
    name: "class fields, and methods of values that a constructor or a factory made",
    files: {
      "store.js":
        "class Store {\n  save () {}\n}\nfunction openStore () {\n  return new Store()\n}\nmodule.exports = { Store, openStore }\n",
      "user.js":
        "const { Store, openStore } = require('./store')\nclass User {\n  store = new Store()\n  constructor () {\n    this.second = openStore()\n  }\n  run () {\n    this.store.save()\n    this.second.save()\n  }\n}\n",
    },
    symbol: "Store.save",
    uses: ["user.js:8", "user.js:9"],
  },
  {
    name: "types in comments: of parameters, results, variables and fields, and of other modules",
    files: {
      "store.js": "class Store {\n  save () {}\n}\nmodule.exports = Store\n",
      "user.js":
        "const Store = require('./store')\n/**\n * @param {Store} store\n * @returns {Promise<Store|null>}\n */\nfunction run (store) {\n  store.save()\n}\nrun().save()\nclass User {\n  constructor () {\n    /** @type {Store[]} */\n    this.all = []\n  }\n  first () {\n    this.all[0].save()\n  }\n}\n",
      "other.js":
        "/** @type {import('./store')} */\nlet none\n/**\n * @param {import('./all').Store} [store]\n */\nmodule.exports = (store) => store.save()\n",
      "all.js": "module.exports = { Store: require('./store') }\n",
    },
    symbol: "Store.save",
    uses: ["other.js:6", "user.js:7", "user.js:9", "user.js:16"],
  },
  {
    name: "a type that only a comment names",
    files: {
      "store.js":
        "class Store {}\n/**\n * @param {Store} a\n */\nfunction run (a) {}\nmodule.exports = run\n",
    },
    symbol: "Store",
    uses: ["store.js:3"],
  },
  {
    name: "a module that hands on another one",
    files: {
      "a.js": "exports.open = () => 1\n",
      "b.js": "module.exports = require('./a')\n",
      "c.js": "module.exports = {\n  store: require('./a'),\n  open: require('./a').open\n}\n",
      "d.js":
        "const { open } = require('./b')\nopen()\nconst all = require('./c')\nall.store.open()\nall.open()\n",
    },
    symbol: "open",
    uses: ["c.js:3", "d.js:1", "d.js:2", "d.js:4", "d.js:5"],
  },
];

describe("REQ-R5 uses in plain JavaScript", () => {
  test.each(CASES)("$name", async ({ files, symbol, uses }) => {
    expect(usesOf(await graphOf(files), symbol)).toEqual(uses);
  });

  test("a property that is read is not a method of the same name", async () => {
    const graph = await graphOf({
      "reply.js": "class Reply {\n  statusCode () {}\n}\nmodule.exports = Reply\n",
      "main.js": "module.exports = (error, reply) => {\n  reply.statusCode()\n  return error.statusCode\n}\n",
    });
    expect(usesOf(graph, "statusCode")).toEqual(["main.js:2"]);
  });

  test("who calls a function that is known under several names", async () => {
    const graph = await graphOf({
      "a.js": "function add () {}\nmodule.exports = { insert: add }\n",
      "b.js": "const { insert } = require('./a')\nfunction run () {\n  insert()\n}\nmodule.exports = run\n",
    });
    const { nodes, edges } = graph.lineage("add", { direction: "callers" });
    expect(nodes.map(({ name }) => name)).toEqual(["add", "run"]);
    expect(edges.map(({ lines }) => lines)).toEqual([[3]]);
  });

  test("properties that only hold something else are not shown as definitions", async () => {
    const graph = await graphOf({
      "a.js": "function open () {}\nconst store = { open, load () {} }\nmodule.exports = store\n",
    });
    expect(graph.whereUsed("open").definitions.map(({ qualified }) => qualified)).toEqual(["open"]);
    expect(graph.inspect("a.js").file?.definitions.map(({ qualified }) => qualified)).toEqual([
      "open",
      "store",
      "store.load",
    ]);
    expect(graph.inspect("store").symbols[0]?.members.map(({ name }) => name)).toEqual(["load"]);
  });
});
