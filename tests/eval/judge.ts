import type { AnswerPart } from '../../runtime/assistant/answer.ts';
import type { Task } from './task.ts';

/** What a task's answer is worth. */
export interface Verdict {
  task: string;
  passed: boolean;
  /** Names of the facts that the answer does not state. */
  missing: string[];
  /** What else is wrong with it. */
  faults: string[];
  /** Tools that the model called. */
  tools: string[];
  tokens: number;
  answer: string;
}

/** Compares an answer with the facts of its task. Pure. */
export function judge(task: Task, parts: readonly AnswerPart[]): Verdict {
  const answer = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  const commands = parts.flatMap((part) => (part.type === 'prepared' ? [part.command] : []));
  const tools = parts.flatMap((part) => (part.type === 'tool' ? [part.tool] : []));
  const missing = Object.entries(task.facts).flatMap(([name, fact]) => (fact.test(answer) ? [] : [name]));
  const faults: string[] = [];
  const last = parts.at(-1);
  if (last?.type === 'error') faults.push(`${last.code}: ${last.error}`);
  if (task.wrong?.test(answer)) faults.push(`it claims ${task.wrong.exec(answer)?.[0] ?? ''}`);
  const { prepares } = task;
  if (prepares && !commands.some((command) => prepares.command.test(command))) {
    faults.push(`it does not prepare ${prepares.command.source}`);
  }
  const others = commands.filter((command) => !prepares?.command.test(command));
  if (others.length > 0) faults.push(`it prepares ${others.join(', ')}`);
  const { inputTokens = 0, outputTokens = 0 } = last?.type === 'done' ? last.usage : {};
  const passed = missing.length === 0 && faults.length === 0;
  return { task: task.name, passed, missing, faults, tools, tokens: inputTokens + outputTokens, answer };
}
