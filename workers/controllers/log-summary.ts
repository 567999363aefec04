/** The last line of a log. For a JSON entry with `msg`, as the function runtimes write, only `msg`. Pure. */
export function lastMessage(log: string): string {
  const line = log.trimEnd().split('\n').at(-1)?.trim() ?? '';
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry === 'object' && entry !== null && 'msg' in entry) return String(entry.msg);
  } catch {
    // Plain text.
  }
  return line;
}

/** Lines at the end of a crash log that name no cause: stack frames, closing brackets, and Node's version. */
const noise = /^\s|^[^A-Za-z]*$|^Node\.js v[0-9.]+$/;

/** The line of a crash log that names the cause: the last one that is not part of a stack trace. Pure. */
export function errorLine(log: string): string {
  const lines = log.trimEnd().split('\n');
  return lastMessage(lines.findLast((line) => !noise.test(line)) ?? lines.at(-1) ?? '');
}
