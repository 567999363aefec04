import { cursorDescription, environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  deadLetterChoice,
  deadLettersChanged,
  deadLetterView,
  eventNumber,
  functionEventView,
  type DeadLetterView,
  type FunctionEventView,
} from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import type { Route } from '../../runtime/http/route.ts';
import {
  listDead,
  listPendingEvents,
  purgeDead,
  redrive,
  type DeadLetter,
  type StoredEvent,
} from '../../runtime/records/dead-letters.ts';
import { expediteEvents } from '../../runtime/records/function-events.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import type { FunctionDependencies } from './dependencies.ts';

const query = environmentQuery.extend({
  ...pageQuery.shape,
  cursor: eventNumber.optional().describe(cursorDescription),
});

/** `/events` and `/dead-letters` of a function: events that its source returned and that are not done. */
export function eventRoutes(
  functions: ObjectRoutes<FunctionResource>,
  { pool }: Pick<FunctionDependencies, 'pool'>,
): Route[] {
  const change = (
    action: 'redrive' | 'purge',
    summary: string,
    apply: (...parameters: Parameters<typeof redrive>) => Promise<number>,
  ) =>
    functions.route({
      method: 'POST',
      path: `/dead-letters/${action}`,
      access: { project: 'deployer', scope: 'write' },
      summary,
      audit: `dead-letters.${action}`,
      body: deadLetterChoice,
      replies: { 200: deadLettersChanged },
      async handle({ body, find }) {
        const id = eventFunctionId(await find());
        const count = await apply(pool, id, 'ids' in body ? body.ids : 'all');
        // Reading may have stopped because of too many dead letters.
        if (count > 0) await expediteEvents(pool, id);
        return { status: 200, body: { count }, audit: count > 0 && { count } };
      },
    });

  return [
    functions.route({
      method: 'GET',
      path: '/events',
      access: { project: 'viewer', scope: 'read' },
      summary: 'Lists a function’s events that are not done, without their content, in the order of their source.',
      query,
      replies: { 200: page(functionEventView) },
      async handle({ query: { limit, cursor }, find }) {
        const rows = await listPendingEvents(pool, eventFunctionId(await find()), { limit: limit + 1, after: cursor });
        const body = pageOfRows(rows, limit, { cursorOf: ({ number }) => number, toItem: eventToView });
        return { status: 200, body };
      },
    }),
    functions.route({
      method: 'GET',
      path: '/dead-letters',
      access: { project: 'deployer', scope: 'write' },
      summary: 'Lists a function’s dead letters with their content, newest first.',
      query,
      replies: { 200: page(deadLetterView) },
      async handle({ query: { limit, cursor }, find }) {
        const rows = await listDead(pool, eventFunctionId(await find()), { limit: limit + 1, before: cursor });
        const body = pageOfRows(rows, limit, { cursorOf: ({ number }) => number, toItem: deadLetterToView });
        return { status: 200, body };
      },
    }),
    change('redrive', 'Redrives dead letters: they are delivered again. Dead letters without content stay.', redrive),
    change(
      'purge',
      'Purges dead letters and their content. They are not delivered again while their source contains them.',
      purgeDead,
    ),
  ];
}

/** The id of a function with an event source. @throws Problem `invalid_value` for other functions */
function eventFunctionId(object: Stored<FunctionResource>): Id {
  if (object.spec.events) return workloadIdOf(object);
  throw new Problem(
    'invalid_value',
    `The function "${object.metadata.name}" has no event source. Set one with --trigger and --source (svc function update).`,
    { details: { field: 'events' } },
  );
}

function commonFields({ number, id, foundAt, failures, lastError }: StoredEvent) {
  return { id: number, event: id, foundAt: foundAt.toISOString(), failures, ...(lastError !== null && { lastError }) };
}

function eventToView(event: StoredEvent): FunctionEventView {
  const { state, dueAt } = event;
  if (state === 'dead') throw new Error('a dead letter among events that are not done');
  return { ...commonFields(event), state, dueAt: dueAt.toISOString() };
}

function deadLetterToView(letter: DeadLetter): DeadLetterView {
  const { endedAt, foundAt, payload } = letter;
  return { ...commonFields(letter), deadAt: (endedAt ?? foundAt).toISOString(), ...(payload !== '' && { payload }) };
}
