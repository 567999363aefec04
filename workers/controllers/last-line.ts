/** The last line of a log; of a JSON entry with `msg`, as the runtimes of functions write them, what it says. Pure. */
export function lastLine(log: string): string {
  const line = log.trimEnd().split('\n').at(-1)?.trim() ?? '';
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry === 'object' && entry !== null && 'msg' in entry) return String(entry.msg);
  } catch {
    // Plain text.
  }
  return line;
}

/** Of what a crash leaves at the end of a log: frames of a stack, what closes an object, and Node's farewell. */
const noise = /^\s|^[^A-Za-z]*$|^Node\.js v[0-9.]+$/;

/** The line of a crash's log that says what went wrong: the last one that is no part of a stack trace. Pure. */
export function tellingLine(log: string): string {
  const lines = log.trimEnd().split('\n');
  return lastLine(lines.findLast((line) => !noise.test(line)) ?? lines.at(-1) ?? '');
}
