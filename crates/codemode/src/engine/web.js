// The few parts of the web platform that blocks have: text in UTF-8, clones, random ids, addresses.
(function (host) {
  "use strict";
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

  define("TextEncoder", class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") {
      const out = [];
      for (const character of String(text).toWellFormed()) {
        const code = character.codePointAt(0);
        if (code < 0x80) out.push(code);
        else if (code < 0x800) out.push(0xc0 | (code >> 6), 0x80 | (code & 63));
        else if (code < 0x10000) out.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
        else {
          out.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
        }
      }
      return new Uint8Array(out);
    }
  });

  define("TextDecoder", class TextDecoder {
    #fatal; #keepsMark;
    constructor(label = "utf-8", options = {}) {
      if (!/^\s*(?:unicode-1-1-)?utf-?8\s*$/i.test(label)) {
        throw new RangeError(`TextDecoder knows utf-8 only, not ${label}`);
      }
      this.#fatal = Boolean(options.fatal);
      this.#keepsMark = Boolean(options.ignoreBOM);
    }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#keepsMark; }
    decode(input = new Uint8Array()) {
      const bytes = ArrayBuffer.isView(input)
        ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
        : new Uint8Array(input);
      const parts = [];
      let at = 0;
      const broken = () => {
        if (this.#fatal) throw new TypeError("the bytes are not UTF-8");
        parts.push("\ufffd");
      };
      while (at < bytes.length) {
        const first = bytes[at++];
        if (first < 0x80) { parts.push(String.fromCharCode(first)); continue; }
        const more = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2
          : first >= 0xf0 && first <= 0xf4 ? 3 : 0;
        if (more === 0) { broken(); continue; }
        let code = first & (0x3f >> more);
        let [low, high] = [0x80, 0xbf];
        if (first === 0xe0) low = 0xa0;
        if (first === 0xed) high = 0x9f;
        if (first === 0xf0) low = 0x90;
        if (first === 0xf4) high = 0x8f;
        let read = 0;
        while (read < more && at < bytes.length && bytes[at] >= low && bytes[at] <= high) {
          code = (code << 6) | (bytes[at++] & 0x3f);
          [low, high] = [0x80, 0xbf];
          read += 1;
        }
        if (read < more) broken();
        else parts.push(String.fromCodePoint(code));
      }
      const text = parts.join("");
      return !this.#keepsMark && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
  });

  const clone = (value, seen) => {
    if (typeof value === "function" || typeof value === "symbol") {
      const error = new Error("what is not data can not be cloned");
      error.name = "DataCloneError";
      throw error;
    }
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (made) => { seen.set(value, made); return made; };
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
      const buffer = clone(value.buffer, seen);
      const length = value instanceof DataView ? value.byteLength : value.length;
      return keep(new value.constructor(buffer, value.byteOffset, length));
    }
    if (value instanceof Map) {
      const made = keep(new Map());
      for (const [key, item] of value) made.set(clone(key, seen), clone(item, seen));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      for (const item of value) made.add(clone(item, seen));
      return made;
    }
    if (value instanceof Error) {
      const made = keep(new value.constructor(value.message));
      made.stack = value.stack;
      return made;
    }
    const made = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) made[key] = clone(value[key], seen);
    return made;
  };
  define("structuredClone", (value) => clone(value, new Map()));

  define("crypto", Object.freeze({
    randomUUID: () => host.uuid(),
    getRandomValues: (array) => {
      if (!ArrayBuffer.isView(array) || array.byteLength > 65536) {
        throw new TypeError("getRandomValues takes an array of at most 65536 bytes");
      }
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = host.randomByte();
      return array;
    },
  }));

  const decode = (text) => host.percentDecode(text.replace(/\+/g, " "));
  const encode = (text) =>
    encodeURIComponent(String(text).toWellFormed()).replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
      .replace(/%20/g, "+");
  class URLSearchParams {
    #pairs = []; #changed = () => {};
    constructor(init = "", changed) {
      if (changed) this.#changed = changed;
      if (typeof init === "object" && init !== null) {
        const pairs = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
        this.#pairs = pairs.map(([key, value]) => [String(key), String(value)]);
      } else {
        for (const part of String(init).replace(/^\?/, "").split("&")) {
          if (part === "") continue;
          const [key, ...rest] = part.split("=");
          this.#pairs.push([decode(key), decode(rest.join("="))]);
        }
      }
    }
    get size() { return this.#pairs.length; }
    append(key, value) { this.#pairs.push([String(key), String(value)]); this.#changed(); }
    delete(key) { this.#pairs = this.#pairs.filter(([name]) => name !== String(key)); this.#changed(); }
    get(key) { return this.getAll(key)[0] ?? null; }
    getAll(key) { return this.#pairs.filter(([name]) => name === String(key)).map(([, value]) => value); }
    has(key) { return this.getAll(key).length > 0; }
    set(key, value) {
      const at = this.#pairs.findIndex(([name]) => name === String(key));
      if (at < 0) return this.append(key, value);
      this.#pairs = this.#pairs.filter(([name], place) => place <= at || name !== String(key));
      this.#pairs[at] = [String(key), String(value)];
      this.#changed();
    }
    sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#changed(); }
    forEach(visit) { for (const [key, value] of this.#pairs) visit(value, key, this); }
    keys() { return this.#pairs.map(([key]) => key).values(); }
    values() { return this.#pairs.map(([, value]) => value).values(); }
    entries() { return this.#pairs.map((pair) => [...pair]).values(); }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map(([key, value]) => `${encode(key)}=${encode(value)}`).join("&"); }
  }
  define("URLSearchParams", URLSearchParams);

  class URL {
    #parts; #params;
    constructor(text, base) {
      this.#take(host.url(String(text), base === undefined ? "" : String(base)), text);
    }
    #take(parts, text) {
      if (parts === "") throw new TypeError(`Invalid URL: ${text}`);
      this.#parts = JSON.parse(parts);
    }
    #set(name, value) {
      const parts = host.setUrl(this.#parts.href, name, String(value));
      if (parts !== "") this.#parts = JSON.parse(parts);
      if (name === "search" || name === "href") this.#params = undefined;
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.#parts.search, () => {
        const parts = host.setUrl(this.#parts.href, "search", this.#params.toString());
        if (parts !== "") this.#parts = JSON.parse(parts);
      });
      return this.#params;
    }
    get href() { return this.#parts.href; }
    set href(value) { this.#take(host.url(String(value), ""), value); this.#params = undefined; }
    get origin() { return this.#parts.origin; }
    static canParse(text, base) { return host.url(String(text), base === undefined ? "" : String(base)) !== ""; }
    toString() { return this.#parts.href; }
    toJSON() { return this.#parts.href; }
    static part(name) {
      Object.defineProperty(URL.prototype, name, {
        get() { return this.#parts[name]; },
        set(value) { this.#set(name, value); },
        enumerable: true, configurable: true,
      });
    }
  }
  for (const name of ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
    URL.part(name);
  }
  delete URL.part;
  define("URL", URL);
})
