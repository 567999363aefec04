import { answer, type AnswerPart } from '../../runtime/assistant/answer.ts';
import type { Provider } from '../../runtime/assistant/provider-connection.ts';
import { createRedact } from '../../runtime/assistant/redaction.ts';
import type { Tools } from '../../runtime/assistant/tools.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Route } from '../../runtime/http/route.ts';
import { declaredRoutes } from '../functions/all-routes.ts';
import { testTools, toolCaller, type Handlers } from '../support/tools.ts';
import { judge, type Verdict } from './judge.ts';
import type { Recording } from './recording.ts';
import type { Task } from './task.ts';

interface RunOptions {
  timeoutMs?: number;
  /** Gets each part of each answer. */
  onPart?: (task: Task, part: AnswerPart) => void;
}

/** The state of each question, by its request: the tools are the same for all, because making them takes most of the time. */
const states = new Map<string, Recording>();
let tools: Promise<Tools> | undefined;

/** Asks a provider the question of a task, with tools that answer from the recorded state, and judges the answer. */
export async function runTask(
  task: Task,
  provider: Provider,
  { timeoutMs, onPart }: RunOptions = {},
): Promise<Verdict> {
  tools ??= replay((id) => states.get(id) ?? {}).then((handlers) => testTools({ handlers }));
  const { question, page = {}, state } = task;
  const caller = toolCaller();
  states.set(caller.requestId, state);
  const request = { project: 'shop', question, files: [], page, history: [], caller };
  const parts: AnswerPart[] = [];
  for await (const part of answer(request, {
    provider,
    level: 'logs',
    tools: await tools,
    redact: createRedact(),
    recordCall: async () => undefined,
    hasTokens: async () => true,
    countTokens: async () => undefined,
    timeoutMs,
  })) {
    parts.push(part);
    onPart?.(task, part);
  }
  states.delete(caller.requestId);
  return judge(task, parts);
}

/** Handlers that answer as the platform did. Each answer has the form that its route declares. */
export async function replay(stateOf: (requestId: string) => Recording): Promise<Handlers> {
  const { routes } = await declaredRoutes();
  const reads = routes.filter(({ method }) => method === 'GET');
  return Object.fromEntries(reads.map((route) => [`GET ${route.path}`, handlerOf(route, stateOf)]));
}

function handlerOf({ path, replies }: Route, stateOf: (requestId: string) => Recording): Route['handle'] {
  return async ({ params, requestId }) => {
    const names = params as Record<string, string>;
    const target = path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => names[name] ?? '');
    const body = stateOf(requestId)[target];
    if (body === undefined) throw new Problem('not_found', `There is no ${target}.`);
    return { status: 200, body: replies[200]?.parse(body) };
  };
}
