import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import type { FormatOptions, Formatter } from './formatter.ts';
import type { Output, OutputFormat } from './output.ts';
import { isTemporary } from './wait.ts';

/** The first pause between two runs, which grows up to the longest one while nothing changes. */
const pauseMs = 2_000;
const pauseMaxMs = 10_000;
const pauseGrowth = 1.5;

const clearScreen = '\u001B[2J\u001B[H';

/**
 * Runs a command again and again until Ctrl-C. On a terminal the output is replaced; otherwise only what changed is
 * printed, as lines.
 * @throws Failure when a run fails before it prints anything, and not temporarily
 */
export async function watch(
  context: Context,
  options: FormatOptions,
  run: (context: Context) => Promise<void>,
): Promise<void> {
  const interrupted = Promise.withResolvers<true>();
  // Without the signal, a pause would keep the process alive.
  const pauses = new AbortController();
  const removeListener = context.onInterrupt?.(() => {
    interrupted.resolve(true);
    pauses.abort();
  });
  const show = createView(context, options);
  const lines = new Set<string>();
  const say = (line: string) => {
    if (!lines.has(line)) context.say(line);
    lines.add(line);
  };
  let pause = pauseMs;
  let shown = false;
  try {
    for (;;) {
      const outputs: [Output, OutputFormat | undefined][] = [];
      const messages: string[] = [];
      const recorder: Context = {
        ...context,
        say: (line) => void messages.push(line),
        print: (...printed) => void outputs.push(printed),
      };
      const end = await Promise.race([
        attempt(run, recorder, () => ({ ever: shown, now: outputs.length > 0 })),
        interrupted.promise,
      ]);
      if (end === true) return;
      if (end instanceof Failure) messages.push(end.message);
      const changed = outputs.map(([output, format]) => show(output, format)).includes(true);
      // Below the output, which clears the screen.
      for (const line of messages) say(line);
      shown ||= changed;
      pause = changed ? pauseMs : Math.min(pauseMaxMs, pause * pauseGrowth);
      const sleep = context.clock.sleep(pause, pauses.signal).catch(() => undefined);
      if ((await Promise.race([sleep, interrupted.promise])) === true) return;
    }
  } finally {
    removeListener?.();
  }
}

/**
 * One run. A failure after the first output does not end the watch when it is temporary, or when the run printed what it
 * found before it failed, as `svc status` does.
 */
async function attempt(
  run: (context: Context) => Promise<void>,
  context: Context,
  hasOutput: () => { ever: boolean; now: boolean },
): Promise<Failure | undefined> {
  try {
    await run(context);
    return undefined;
  } catch (error) {
    const { ever, now } = hasOutput();
    if (error instanceof Failure && (now || (ever && isTemporary(error)))) return error;
    throw error;
  }
}

/** @returns a function that shows an output in relation to the one before, and returns whether its data changed */
function createView({ stdout, formatter }: Context, { json, jq }: FormatOptions) {
  let before: { output: Output; text: string } | undefined;
  return (output: Output, format: OutputFormat = 'table'): boolean => {
    const text = formatter.document(output, format);
    const previous = before;
    before = { output, text };
    const changed = JSON.stringify(previous?.output.data) !== JSON.stringify(output.data);
    const isTable = format === 'table' && json === undefined && jq === undefined;
    if (isTable && stdout.isTTY) {
      // Ages change without the data.
      if (text !== previous?.text) stdout.write(clearScreen + text);
      return changed;
    }
    if (!changed) return false;
    if (format === 'yaml') stdout.write(`---\n${text}`);
    else if (format === 'json' && jq === undefined) stdout.write(changedObjects(output, previous?.output, formatter));
    else stdout.write(isTable ? changedRows(output, previous?.output) : newLines(text, previous?.text));
    return true;
  };
}

/** A line for each object of a list that is new, different or gone; one for an object that is no list. */
function changedObjects(output: Output, previous: Output | undefined, { line }: Formatter): string {
  const objects = objectsOf(output);
  if (!objects) return line(output.data);
  const old = (previous && objectsOf(previous)) ?? new Map<string, string>();
  const changed = [...objects].filter(([name, content]) => old.get(name) !== content);
  const deletedNames = [...old.keys()].filter((name) => !objects.has(name));
  return [
    ...changed.map(([, content]) => line(JSON.parse(content))),
    ...deletedNames.map((name) => `${JSON.stringify({ deleted: name })}\n`),
  ].join('');
}

/** The objects of a list as JSON, by name; undefined for output that is no list of named objects. */
function objectsOf({ data, names }: Output): Map<string, string> | undefined {
  if (!Array.isArray(data) || data.length !== names.length) return undefined;
  return new Map(data.map((item, index) => [names[index] ?? '', JSON.stringify(item)]));
}

/** The rows of a table whose objects changed, below its heading the first time. */
function changedRows(output: Output, previous: Output | undefined): string {
  const rows = output.table.split('\n');
  const [objects, old] = [objectsOf(output), previous && objectsOf(previous)];
  if (!objects || !old || rows.length !== objects.size + 1) return newLines(output.table, previous?.table);
  const changed = [...objects].flatMap(([name, content], index) =>
    old.get(name) === content ? [] : [rows[index + 1]],
  );
  const deletions = [...old.keys()].filter((name) => !objects.has(name)).map((name) => `${name} is deleted`);
  return [...changed, ...deletions].map((line) => `${line}\n`).join('');
}

/** The lines of a text that another one does not have. */
function newLines(text: string, previous = ''): string {
  const old = new Set(previous.split('\n'));
  const lines = text.split('\n').filter((line) => !old.has(line));
  return lines.map((line) => `${line}\n`).join('');
}
