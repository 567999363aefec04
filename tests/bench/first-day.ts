import { parseArgs } from 'node:util';

/** Each part prints figures named `first-day.<name>`. */
const parts: Readonly<Record<string, () => Promise<{ run(): Promise<void> }>>> = {
  'command-start': () => import('./first-day/command-start.ts'),
  folder: () => import('./first-day/folder.ts'),
  'followed-lines': () => import('./first-day/followed-lines.ts'),
  'project-file': () => import('./first-day/project-file.ts'),
  sessions: () => import('./first-day/sessions.ts'),
};

/**
 * What a user meets on the first day. `--part <name>` runs one part alone; each file says what its part needs. A part that
 * fails does not keep the others from printing their figures.
 * @throws AggregateError of the parts that failed
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { part: { type: 'string' } } });
  const names = values.part === undefined ? Object.keys(parts) : [values.part];
  const failures: unknown[] = [];
  for (const name of names) {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (!part) throw new Error(`the parts are ${Object.keys(parts).join(', ')}`);
    try {
      await (await part()).run();
    } catch (error) {
      process.stderr.write(`first-day.${name} failed: ${String(error)}\n`);
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${names.length} parts failed`);
}
