import { Failure, usageFailure } from './failure.ts';
import type { Output, OutputFormat } from './output.ts';

/** Turns what a command prints into text. */
export interface Formatter {
  /** The whole output, with a line end; empty when there is nothing to print. */
  document: (output: Output, format: OutputFormat | undefined) => string;
  /** One object of a stream as a line of JSON, with a line end. */
  line: (data: unknown) => string;
}

/** The options of {@link formatFlags} on the command line. */
export interface FormatOptions {
  output?: OutputFormat | undefined;
  json?: readonly string[] | undefined;
  jq?: string | undefined;
}

/**
 * The formatter for the options. Modules that few commands need are loaded here.
 * @throws Failure (usage) for options that exclude each other, and for a jq expression that is none
 */
export async function createFormatter({ output, json, jq }: FormatOptions): Promise<Formatter> {
  const option = json ? '--json' : '--jq';
  if ((json ?? jq) !== undefined && output !== undefined && output !== 'json') {
    throw usageFailure(`${option} prints JSON and cannot be combined with -o ${output}.`);
  }
  const yaml = output === 'yaml' ? (await import('yaml')).stringify : undefined;
  const filter = jq === undefined ? undefined : await compile(jq);
  const select = (data: unknown): unknown => (json ? pick(data, json) : data);

  return {
    document(printed, format = 'table') {
      if (filter) return filter(select(printed.data));
      if (json || format === 'json') return `${JSON.stringify(select(printed.data), null, 2)}\n`;
      if (yaml && format === 'yaml') return yaml(printed.data);
      const text = format === 'name' ? printed.names.join('\n') : printed.table;
      return text === '' ? '' : `${text}\n`;
    },
    line: (data) => (filter ? filter(select(data)) : `${JSON.stringify(select(data))}\n`),
  };
}

/** The named fields of an object, or of each object of a list; null for a field that an object does not have. */
function pick(data: unknown, names: readonly string[]): unknown {
  if (Array.isArray(data)) return data.map((item) => pick(item, names));
  const values = new Map(Object.entries(data ?? {}));
  return Object.fromEntries(names.map((name) => [name, values.get(name) ?? null]));
}

/** A jq expression as a function: text is printed unchanged, anything else as JSON, each result on a line. */
async function compile(expression: string): Promise<(data: unknown) => string> {
  const { loadJq } = await import('jq-wasm');
  const jq = await loadJq();
  // The last flag keeps jq from reading an expression such as -1 as a flag.
  const evaluate = (input: string) => jq.raw(input, expression, ['--raw-output', '--compact-output', '--']);
  // Without input, jq only reads the expression.
  const { exitCode, stderr } = evaluate('');
  if (exitCode !== 0) throw usageFailure(`--jq: ${reasonOf(stderr)}`, 'see https://jqlang.org/manual');
  return (data) => {
    const result = evaluate(JSON.stringify(data));
    if (result.exitCode !== 0) throw new Failure(`--jq: ${reasonOf(result.stderr)}`, { code: 'jq' });
    return result.stdout === '' ? '' : `${result.stdout}\n`;
  };
}

/** The first line of what jq printed, without its own name and file. */
function reasonOf(stderr: string): string {
  return (stderr.split('\n', 1)[0] ?? '').replace(/^jq: error(?: \([^)]*\))*: /, '');
}
