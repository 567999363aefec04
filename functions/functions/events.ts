import type { DeadLetterView, FunctionEventView } from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { getWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import {
  listDead,
  listUndone,
  purgeDead,
  redrive,
  type DeadLetter,
  type UndoneEvent,
} from '../../runtime/records/dead-letters.ts';
import { hastenEvents } from '../../runtime/records/function-events.ts';
import type { FunctionDependencies } from './handler.ts';
import { changeDeadLettersSchema, listDeadLettersSchema, listEventsSchema } from './schema.ts';

const tag = 'functions';
const path = '/projects/:project/functions/:function';

const changes = {
  redrive: {
    change: redrive,
    done: 'dead letters redriven',
    summary: 'Has dead letters delivered again, as if they had just been found; those without content stay.',
  },
  purge: {
    change: purgeDead,
    done: 'dead letters purged',
    summary: 'Forgets dead letters and their content; they are not delivered again while their source has them.',
  },
} as const;

/** `/projects/{p}/functions/{f}/events` and `…/dead-letters`: what a function's data source has brought, and is not done. */
export function eventRoutes({ kube, pool }: Pick<FunctionDependencies, 'kube' | 'pool'>): Route[] {
  const find = async (params: { project: string; function: string }, query: { environment?: string | undefined }) => {
    const environment = await resolveEnvironment(kube, params.project, query.environment);
    return withEvents(await getWorkload<FunctionResource>(kube, 'Function', environment, params.function));
  };

  return [
    route({
      ...listEventsSchema,
      method: 'GET',
      path: `${path}/events`,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the events of a function that are not done, without their content, in the order of their source.',
      async handle({ params, query }) {
        const { limit, cursor } = query;
        const id = workloadIdOf(await find(params, query));
        const rows = await listUndone(pool, id, { limit: limit + 1, after: cursor });
        return {
          status: 200,
          body: pageOfRows(rows, limit, { cursorOf: ({ number }) => number, toItem: eventToView }),
        };
      },
    }),
    route({
      ...listDeadLettersSchema,
      method: 'GET',
      path: `${path}/dead-letters`,
      access: { project: 'deployer' },
      tag,
      summary: 'Lists the events of a function that were given up, with what it was sent, newest first.',
      async handle({ params, query }) {
        const { limit, cursor } = query;
        const id = workloadIdOf(await find(params, query));
        const rows = await listDead(pool, id, { limit: limit + 1, before: cursor });
        return {
          status: 200,
          body: pageOfRows(rows, limit, { cursorOf: ({ number }) => number, toItem: letterToView }),
        };
      },
    }),
    ...(['redrive', 'purge'] as const).map((action) => {
      const { change, done, summary } = changes[action];
      return route({
        ...changeDeadLettersSchema,
        method: 'POST',
        path: `${path}/dead-letters/${action}`,
        access: { project: 'deployer' },
        tag,
        summary,
        async handle(request) {
          const { params, query, body, log } = request;
          const found = await find(params, query);
          const id = workloadIdOf(found);
          const count = await change(pool, id, 'ids' in body ? body.ids : 'all');
          // There may have been too many of them to read on.
          if (count > 0) await hastenEvents(pool, id);
          const { namespace } = found.metadata;
          log.info({ function: params.function, namespace, count, actor: sessionOf(request).email }, done);
          return { status: 200, body: { count } };
        },
      });
    }),
  ];
}

/** @throws Problem `invalid_value` for a function without a data source */
function withEvents(found: Stored<FunctionResource>): Stored<FunctionResource> {
  if (found.spec.events) return found;
  throw new Problem(
    'invalid_value',
    `The function "${found.metadata.name}" has no events; give it a data source with --trigger and --source (svc function update).`,
    { details: { field: 'events' } },
  );
}

function shared({ number, id, foundAt, failures, lastError }: UndoneEvent) {
  return {
    ...{ id: number, event: id, foundAt: foundAt.toISOString(), failures },
    ...(lastError !== null && { lastError }),
  };
}

function eventToView(event: UndoneEvent): FunctionEventView {
  const { state, dueAt } = event;
  if (state === 'dead') throw new Error('a dead letter among events that are not done');
  return { ...shared(event), state, dueAt: dueAt.toISOString() };
}

function letterToView(letter: DeadLetter): DeadLetterView {
  const { endedAt, foundAt, payload } = letter;
  return {
    ...shared(letter),
    deadAt: (endedAt ?? foundAt).toISOString(),
    ...(payload !== '' && { payload }),
  };
}
