// What a block finds in its world. Evaluated once per block, before anything of the block; the host's functions are seen
// here only. Whatever the block does to these objects it does to itself: every call is checked again outside.
(function (host, input) {
  "use strict";
  const { stringify, parse } = JSON;
  const { freeze, defineProperty } = Object;
  const define = (name, value) =>
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

  for (const name of ["SharedArrayBuffer", "Atomics", "WebAssembly", "performance", "WeakRef",
    "FinalizationRegistry", "navigator", "gc", "print"]) {
    delete globalThis[name];
  }

  // Calls.
  const pending = new Map();
  let newest = 0;
  const call = (name, args) =>
    new Promise((resolve, reject) => {
      const id = ++newest;
      const text = stringify(args);
      pending.set(id, { resolve, reject });
      const refused = host.call(id, name, text);
      if (refused) {
        pending.delete(id);
        reject(new Error(refused));
      }
    });
  const deliver = (id, ok, text) => {
    const waiting = pending.get(id);
    if (!waiting) return;
    pending.delete(id);
    if (ok) waiting.resolve(parse(text));
    else waiting.reject(new Error(text));
  };

  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const isAbsolute = (path) => /^(?:\/|~|[A-Za-z]:[\\/])/.test(path);
  const { target, cwd } = input;

  define("shell", (text, options = {}) => {
    if (typeof text !== "string") throw new TypeError("shell(input, options) requires a string input");
    if (!isObject(options)) {
      throw new TypeError("shell(input, options) requires options to be an object when provided");
    }
    const args = { ...options, input: text };
    const goesOn = typeof args.sessionId === "string" && args.sessionId.trim() !== "";
    if (!goesOn && args.target === undefined && target !== undefined) args.target = target;
    if (!goesOn && args.cwd === undefined && cwd !== undefined) args.cwd = cwd;
    return call("shell.exec", args);
  });

  const fs = {};
  for (const name of ["read", "write", "edit", "delete", "search"]) {
    fs[name] = (given) => {
      if (!isObject(given)) throw new TypeError(`fs.${name} requires an object argument`);
      const args = { ...given };
      if (args.target === undefined && target !== undefined) args.target = target;
      if (typeof args.path === "string" && cwd !== undefined && !isAbsolute(args.path)) {
        args.path = `${cwd.replace(/\/+$/, "")}/${args.path.replace(/^(?:\.\/)+/, "")}`;
      }
      return call(`fs.${name}`, args);
    };
  }
  define("fs", freeze(fs));
  define("argv", freeze(input.argv));
  define("args", input.args);

  // Tools of MCP servers, each a function.
  const unwrap = (result) => {
    if (!isObject(result)) return result;
    if ("toolResult" in result) return result.toolResult;
    const content = Array.isArray(result.content) ? result.content : [];
    const isText = (part) => isObject(part) && part.type === "text" && typeof part.text === "string";
    const text = () => content.filter(isText).map((part) => part.text).join("\n");
    if (result.isError) throw new Error(text() || "MCP tool call failed");
    if (result.structuredContent !== undefined && result.structuredContent !== null) {
      return result.structuredContent;
    }
    if (content.length > 0 && content.every(isText)) {
      try {
        return parse(text());
      } catch {
        return text();
      }
    }
    return result;
  };
  for (const tool of input.mcpTools) {
    define(tool.functionName, async (given = {}) => {
      if (!isObject(given)) throw new TypeError(`${tool.functionName} requires an object argument`);
      const args = { serverId: tool.serverId, name: tool.toolName, arguments: given };
      return unwrap(await call("sys.mcp.call", args));
    });
  }
  define("mcpTools", freeze(input.mcpTools.map(freeze)));

  // Logs.
  const log = (prefix) => (...parts) => {
    host.log(prefix + parts.map((part) => String(part)).join(" "));
  };
  const nothing = () => {};
  define("console", {
    log: log(""), warn: log("[warn] "), error: log("[error] "),
    info: nothing, debug: nothing, trace: nothing, dir: nothing, table: nothing, group: nothing,
    groupEnd: nothing, time: nothing, timeEnd: nothing, assert: nothing, count: nothing,
  });

  // Timers.
  const timers = new Map();
  let newestTimer = 0;
  define("setTimeout", (run, wait = 0, ...parts) => {
    if (typeof run !== "function") throw new TypeError("setTimeout requires a function");
    const id = ++newestTimer;
    if (!host.timer(id, Math.max(0, Number(wait) || 0))) throw new RangeError("too many timers");
    timers.set(id, () => run(...parts));
    return id;
  });
  define("clearTimeout", (id) => {
    if (timers.delete(id)) host.forgetTimer(id);
  });
  const fire = (id) => {
    const run = timers.get(id);
    timers.delete(id);
    if (run) run();
  };

  // What is thrown, as far as it can be told.
  // An engine without room for an error throws `null`.
  const exhausted = stringify({ name: "InternalError", message: "out of memory (or `throw null`)", stack: "" });
  const tell = (thrown) => {
    if (thrown === null) return exhausted;
    try {
      if (isObject(thrown) && "message" in thrown) {
        const { name, message, stack } = thrown;
        return stringify({ name: String(name), message: String(message), stack: String(stack) });
      }
      const text = isObject(thrown) || Array.isArray(thrown) ? stringify(thrown) : String(thrown);
      return stringify({ name: "", message: String(text), stack: "" });
    } catch {
      return stringify({ name: "", message: "something was thrown that can not be told", stack: "" });
    }
  };
  const start = (main) => {
    const ended = (value) => {
      const text = stringify(value);
      host.done(text === undefined ? "" : text);
    };
    const failed = (thrown) => host.fail(tell(thrown));
    (async () => main())().then(ended).catch(failed);
  };
  return { deliver, fire, start, tell };
})
