import type { AnswerSource } from '../contracts/api/assistant.ts';
import { commandText } from './command-text.ts';
import { toolKinds } from './read-tools.ts';

/** What the result of a tool is about, where it is no workload. */
const kindsOfTools: Readonly<Record<string, AnswerSource['kind']>> = {
  show_logs: 'logs',
  show_run_log: 'logs',
  show_deployment: 'deployment',
  show_deployment_log: 'deployment',
  list_function_events: 'events',
  list_dead_letters: 'events',
  show_key_usage: 'key',
};

/** What an answer rests on after a call of a tool that reads; undefined for a list. @param names those of the call */
export function sourceOf(tool: string, names: Readonly<Record<string, string>>): AnswerSource | undefined {
  const { project, environment, id, key } = names;
  if (project === undefined) return undefined;
  const place = { project, ...(environment !== undefined && { environment }) };
  const kind = kindsOfTools[tool];
  if (kind === 'deployment' && id !== undefined) {
    return { kind, name: id, ...place, command: commandText(['deployment', 'show', id], { project }) };
  }
  if (kind === 'key' && key !== undefined) {
    return { kind, name: key, ...place, command: commandText(['key', 'usage', key], place) };
  }
  const workload = toolKinds.find((candidate) => names[candidate] !== undefined);
  if (workload === undefined) {
    if (tool !== 'show_project') return undefined;
    return { kind: 'project', name: project, ...place, command: commandText(['project', 'show', project], {}) };
  }
  const name = names[workload] ?? '';
  const words = wordsOf(tool, kind, workload);
  return {
    kind: kind ?? workload,
    name,
    ...place,
    ...(kind && { of: workload }),
    command: commandText([...words, name], place),
  };
}

function wordsOf(tool: string, kind: AnswerSource['kind'] | undefined, workload: string): string[] {
  if (tool === 'list_dead_letters') return ['function', 'dead-letters', 'list'];
  if (kind === undefined) return [workload, 'show'];
  return [workload, kind];
}

/** Lines of logs whose times are remembered in one answer, and of one second. */
const linesMax = 10_000;
const linesOfSecondMax = 100;
/** Single lines that an answer rests on. */
const sourcesMax = 10;

/** A line, and the call that showed it. */
interface ShownLine {
  source: AnswerSource;
  pod: string;
  time: string;
}

/** The lines of logs that an answer had, by their time. */
export interface LineSources {
  /** @param result of a call that shows lines, as the model gets it */
  add(source: AnswerSource, result: string): void;
  /** The lines whose time an answer names, in its order. What a model writes is only searched for, never shown. */
  namedIn(answer: string): AnswerSource[];
}

export function createLineSources(): LineSources {
  const bySecond = new Map<string, ShownLine[]>();
  let count = 0;

  return {
    add(source, result) {
      // The text of a line cannot look like this: in JSON, its quotes are escapes.
      for (const [, pod = '', time = ''] of result.matchAll(/"pod":"([\w.-]{1,253})","time":"([0-9TZ:.-]{19,40})"/g)) {
        const second = time.slice(0, 19);
        const lines = bySecond.get(second) ?? [];
        if (lines.length >= linesOfSecondMax || count >= linesMax) continue;
        lines.push({ source, pod, time });
        bySecond.set(second, lines);
        count += 1;
      }
    },
    namedIn(answer) {
      const named = new Map<string, AnswerSource>();
      for (const [, day = '', clock = ''] of answer.matchAll(
        /(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)/g,
      )) {
        const start = `${day}T${clock}`;
        const line = bySecond.get(start.slice(0, 19))?.find(({ time }) => time.startsWith(start));
        if (line && named.size < sourcesMax) named.set(`${line.pod} ${line.time}`, lineSource(line));
      }
      return [...named.values()];
    },
  };
}

function lineSource({ source, pod, time }: ShownLine): AnswerSource {
  const { of = '', name, project, environment } = source;
  return { ...source, time, pod, command: commandText([of, 'logs', name, '--at', time], { project, environment }) };
}
