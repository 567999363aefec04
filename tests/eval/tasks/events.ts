import { app, at, deadLetter, fn, idOf, lines, list, recording, service } from '../recording.ts';
import type { Task } from '../task.ts';

const counts = { waiting: 0, delivering: 0, marking: 0, dead: 3 };
const source = {
  type: 'postgres' as const,
  source: 'orders',
  query: 'SELECT id, total FROM orders',
  concurrency: 1,
  counts,
};
const importer = fn({ trigger: 'postgres', events: source, bindings: [{ service: 'orders', status: 'ready' }] });
const page = { function: 'import', environment: 'prod' };

const delivery = {
  id: idOf(900),
  receivedAt: at(-3),
  sender: 'github',
  event: 'push',
  verdict: 'refused',
  status: 401,
  code: 'unauthenticated',
  reason: 'The signature is wrong.',
};

/** Events and dead letters of functions, and deliveries of webhooks. */
export const eventTasks: readonly Task[] = [
  {
    name: 'events: dead letters of a bug',
    question: 'Why are there dead letters?',
    page,
    state: recording({
      functions: [importer],
      services: [service()],
      more: {
        '/functions/import/dead-letters': list(
          deadLetter(3, 'The function returned 500: TypeError: Cannot read properties of null (reading "total")'),
          deadLetter(2, 'The function returned 500: TypeError: Cannot read properties of null (reading "total")'),
        ),
        '/functions/import/logs': lines(
          'import-1',
          'TypeError: Cannot read properties of null (reading "total")',
          '    at price (/app/index.mjs:14:22)',
        ),
      },
    }),
    reads: [
      ['list_dead_letters', { function: 'import' }],
      ['show_logs', { kind: 'function', name: 'import' }],
    ],
    facts: { cause: /null/i, field: /total/, place: /14|index\.mjs/ },
    wrong: /4111/,
    answer:
      'At 2026-11-24T10:00:01Z the function throws a TypeError in `index.mjs`, line 14: it reads `total` of null. ' +
      'Three events are dead letters for this reason.',
  },
  {
    name: 'events: a function that is too slow',
    question: 'Why were events of import given up?',
    page,
    state: recording({
      functions: [importer],
      more: { '/functions/import/dead-letters': list(deadLetter(3, 'The function did not answer within 30 seconds.')) },
    }),
    reads: [['list_dead_letters', { function: 'import' }]],
    facts: { cause: /slow|answer|time|respon/i, limit: /\b30\b/ },
    answer: 'The function did not answer within 30 seconds, eight times.',
  },
  {
    name: 'events: the source cannot be read',
    question: 'Why does import get no events?',
    page,
    state: recording({
      functions: [
        fn({
          trigger: 'postgres',
          events: { ...source, counts: { ...counts, dead: 0 }, error: 'column "totl" does not exist', readAt: at(-1) },
        }),
      ],
      more: { '/functions/import/events': list(), '/functions/import/dead-letters': list() },
    }),
    reads: [
      ['show_workload', { kind: 'function', name: 'import' }],
      ['list_function_events', { function: 'import' }],
    ],
    facts: { cause: /column/i, name: /totl/ },
    answer: 'The query of its source fails: the column `totl` does not exist.',
  },
  {
    name: 'events: they wait, because no pod starts',
    question: 'Events of import pile up. Why?',
    page,
    state: recording({
      functions: [
        fn({
          trigger: 'postgres',
          status: 'failed',
          message: 'The variable API_URL refers to the secret API_TOKEN, which does not exist.',
          events: { ...source, counts: { ...counts, waiting: 840 } },
        }),
      ],
      more: {
        '/functions/import/events': list({
          id: '1',
          event: 'order-1',
          state: 'waiting',
          foundAt: at(-90),
          dueAt: at(1),
          failures: 0,
        }),
      },
    }),
    reads: [['show_workload', { kind: 'function', name: 'import' }]],
    facts: { count: /840/, cause: /API_TOKEN/, reason: /secret/i },
    answer:
      '840 events wait, because no pod can start: `API_URL` refers to the secret `API_TOKEN`, which does not exist.',
  },
  {
    name: 'webhook: a wrong signature',
    question: 'I pushed to main, but nothing was deployed. What happened?',
    page: { app: 'api', environment: 'prod' },
    state: recording({ more: { '/apps/api/webhook/deliveries': list(delivery) } }),
    reads: [['list_webhook_deliveries', { app: 'api' }]],
    facts: { cause: /signature/i, status: /401|refused/i },
    answer: 'The webhook refused the push with 401: its signature is wrong. Compare the secret in GitHub.',
  },
  {
    name: 'webhook: another branch',
    question: 'I pushed, but nothing was deployed. What happened?',
    page: { app: 'api', environment: 'prod' },
    state: recording({
      more: {
        '/apps/api/webhook/deliveries': list({
          ...delivery,
          verdict: 'ignored',
          status: 200,
          code: undefined,
          reason: 'The branch fix-cart is not main.',
        }),
      },
    }),
    reads: [['list_webhook_deliveries', { app: 'api' }]],
    facts: { cause: /branch/i, pushed: /fix-cart/, deployed: /main/ },
    wrong: /signature is wrong/i,
    answer: 'The push was to the branch `fix-cart`, and only `main` is deployed, so it was ignored.',
  },
  {
    name: 'git: a token that was revoked',
    question: 'Why does api not deploy new commits?',
    page: { app: 'api', environment: 'prod' },
    state: recording({
      apps: [app()],
      more: {
        '/apps/api/git': {
          configured: true,
          url: 'https://git.example.com/shop/api.git',
          branch: 'main',
          credentials: 'token',
          commit: '4c0ffee1d2',
          polledAt: at(-1),
          error: 'The server refuses the token. Set another one: svc app git set api --token-file <file>',
          problem: 'credentials',
        },
      },
    }),
    reads: [['show_git_source', { app: 'api' }]],
    facts: { cause: /token/i, reason: /refus|reject|invalid|revoked|expired/i },
    answer:
      'The git server refuses the token of the app. Set another one with `svc app git set api --token-file <file>`.',
  },
];
