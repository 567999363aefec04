/** One sample of a process's metrics. */
export interface Sample {
  metric: string;
  labels: Record<string, string>;
  value: number;
}

/** Longer lines are skipped: a name and three labels need a few hundred characters. */
const lineMax = 2_000;
const labelsMax = 10;

/**
 * Reads the samples of metrics in Prometheus's text format, one line at a time. Lines that are not valid are skipped: one
 * process must not keep the figures of others away. Time stamps and comments are ignored. Pure.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 * @param isRead whether to read samples of this metric
 */
export function* samplesIn(text: string, isRead: (metric: string) => boolean): Generator<Sample> {
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    if (end - start <= lineMax && text[start] !== '#') {
      const sample = sampleOf(text.slice(start, end), isRead);
      if (sample) yield sample;
    }
    start = end + 1;
  }
}

function sampleOf(line: string, isRead: (metric: string) => boolean): Sample | undefined {
  const [metric = ''] = /^[a-zA-Z_:][a-zA-Z0-9_:]*/.exec(line) ?? [];
  if (metric === '' || !isRead(metric)) return undefined;
  const labels: Record<string, string> = {};
  let at = metric.length;
  if (line[at] === '{') {
    const end = readLabels(line, at + 1, labels);
    if (end === undefined) return undefined;
    at = end;
  }
  const [word = ''] = line.slice(at).trimStart().split(' ', 1);
  const value = numberOf(word);
  return value === undefined ? undefined : { metric, labels, value };
}

/** Reads `name="value",…}` into `labels`. @returns the position after it; undefined when it is not valid */
function readLabels(line: string, start: number, labels: Record<string, string>): number | undefined {
  const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,?)/y;
  for (let at = start, count = 0; count <= labelsMax; count++) {
    if (line[at] === '}') return at + 1;
    label.lastIndex = at;
    const match = label.exec(line);
    if (!match) return undefined;
    const [, name = '', value = ''] = match;
    labels[name] = value.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
    at = label.lastIndex;
  }
  return undefined;
}

function numberOf(word: string): number | undefined {
  if (word === '+Inf' || word === '-Inf' || word === 'NaN' || word === '') return undefined;
  const value = Number(word);
  return Number.isFinite(value) ? value : undefined;
}
