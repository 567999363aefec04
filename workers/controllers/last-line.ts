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
