import type { AnswerSource } from '../contracts/api/assistant.ts';
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
  if (kind === 'deployment' && id !== undefined) return { kind, name: id, ...place };
  if (kind === 'key' && key !== undefined) return { kind, name: key, ...place };
  const workload = toolKinds.find((candidate) => names[candidate] !== undefined);
  if (workload === undefined) return tool === 'show_project' ? { kind: 'project', name: project, ...place } : undefined;
  const name = names[workload] ?? '';
  return { kind: kind ?? workload, name, ...place, ...(kind && { of: workload }) };
}
