// Uses the generated types as a client would. The TypeScript compiler checks it in `cargo xtask test`.

import type { Frame, RequestFrame, ResponseFrame, Signals, SignalFrame, Syscalls } from "../../docs/reference/gsv";

declare function call<Name extends keyof Syscalls>(
  name: Name,
  args: Syscalls[Name]["args"],
): Promise<Syscalls[Name]["result"]>;

declare function on<Name extends keyof Signals>(name: Name, handler: (payload: Signals[Name]) => void): void;

export async function operationResultsNarrowOnOk(): Promise<string> {
  const result = await call("fs.write", { target: "macbook", path: "notes.txt", content: "hello" });
  if (!result.ok) {
    return result.error;
  }
  const size: number = result.size;
  // @ts-expect-error There is no error once `ok` is true.
  result.error;
  return `${result.path}: ${size}`;
}

export async function readsFilesAndDirectories(): Promise<number> {
  const result = await call("fs.read", { path: "/etc" });
  if (!result.ok) {
    throw new Error(result.error);
  }
  if ("files" in result) {
    return result.files.length + result.directories.length;
  }
  if (typeof result.content === "string") {
    return result.content.length;
  }
  return result.content.filter((block) => block.type === "image" && block.mimeType === "image/png").length;
}

export async function argumentsAreChecked(): Promise<void> {
  // @ts-expect-error `path` is missing.
  await call("fs.read", {});
  // @ts-expect-error Only routable calls have a target.
  await call("sys.device.get", { deviceId: "macbook", target: "gsv" });
  // @ts-expect-error An absent argument is left out, not `null`.
  await call("fs.read", { path: "x", offset: null });
  await call("proc.spawn", { profile: "wiki#author", workspace: { mode: "new", label: "notes" } });
  // @ts-expect-error There is no such profile.
  await call("proc.spawn", { profile: "nothing" });
  await call("signal.unwatch", { key: "a" });
  // @ts-expect-error Either an id or a key, not both.
  await call("signal.unwatch", { watchId: "1", key: "a" });
  await call("sched.update", { id: "1", patch: { description: null } });
  await call("pkg.sync", {});
}

export async function nullsAreSaid(): Promise<string> {
  const { device } = await call("sys.device.get", { deviceId: "macbook" });
  if (device === null) {
    return "unknown";
  }
  const connectedAt: number | null = device.connectedAt;
  return connectedAt === null ? "never" : new Date(connectedAt).toISOString();
}

export async function shellResultsNarrowOnStatus(): Promise<number> {
  let result = await call("shell.exec", { target: "macbook", input: "npm test", cwd: "~/projects" });
  let output = result.output;
  while (result.status === "running") {
    const sessionId: string = result.sessionId;
    result = await call("shell.exec", { sessionId, input: "" });
    output += result.output;
  }
  if (result.status === "failed") {
    throw new Error(`${result.error}\n${output}`);
  }
  return result.exitCode;
}

export async function codeModeNarrowsOnStatus(): Promise<unknown> {
  const run = await call("codemode.run", { code: "return 1", argv: ["a"], args: { b: 2 } });
  return run.status === "completed" ? run.result : run.error;
}

export function signalsNarrowOnTheirType(): void {
  on("proc.run.stream", ({ event }) => {
    switch (event.type) {
      case "text_delta":
        return event.delta.concat(String(event.contentIndex));
      case "toolcall_end":
        return event.toolCall.name;
      case "done":
        return event.message.usage.cost.total;
      case "error":
        // @ts-expect-error The last event has no partial message.
        return event.partial;
      default:
        return event.partial.content.map((block) => (block.type === "thinking" ? block.thinking : ""));
    }
  });
  on("proc.run.hil.requested", (request) => call("proc.hil", {
    pid: request.pid,
    requestId: request.requestId,
    decision: "approve",
    remember: true,
    rememberScope: "shape",
  }));
}

export function framesNarrowOnTheirType(frame: Frame): string {
  if (frame.type === "req") {
    return frame.call === "fs.read" ? (frame.args?.path ?? "") : frame.call;
  }
  if (frame.type === "res") {
    return frame.ok ? frame.id : `${frame.error?.code}: ${frame.error?.message}`;
  }
  return frame.signal === "device.status" ? (frame.payload?.device.deviceId ?? "") : frame.signal;
}

export const request: RequestFrame<"fs.read"> = { type: "req", id: "1", call: "fs.read", args: { path: "x" } };
export const response: ResponseFrame<"sys.config.set"> = { type: "res", id: "1", ok: true, data: { ok: true } };
export const signal: SignalFrame<"process.exit"> = {
  type: "sig",
  signal: "process.exit",
  payload: { pid: "p", reason: "proc.kill", timestamp: 0 },
  seq: 1,
};
