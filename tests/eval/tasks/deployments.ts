import { app, deployment, idOf, lines, previous, recording, type Recording } from '../recording.ts';
import type { Task } from '../task.ts';

const failed = idOf(7);
const reads = [
  ['list_app_history', { app: 'api' }],
  ['show_deployment_log', { id: failed }],
] as const;
const question = 'Why did the last deployment of api fail?';
const page = { app: 'api', environment: 'prod' };

/** The state after revision 7 failed. @param log what its pods or its build printed */
function after(
  reason: string,
  log: object,
  change: Parameters<typeof deployment>[0] = {},
  previousOne = true,
): Recording {
  const { status = 'failed' } = change;
  const back = status === 'failed' && previousOne ? { rolledBackTo: 6 } : {};
  return recording({
    deployments: [deployment({ reason, ...back, ...change }), previous],
    more: { [`/deployments/${failed}/logs`]: log },
  });
}

const pods = (log: string) => ({ pods: [{ name: 'api-7-x2', log }] });
const build = (text: string) => ({ build: { text, truncated: false }, pods: [] });

/** Failed deployments of every kind, and those that have another end. */
export const deploymentTasks: readonly Task[] = [
  {
    name: 'deployment: a crash without a variable',
    question,
    page,
    state: after(
      'The container keeps crashing (exit code 1): Error: PORT is not set',
      pods('> api@1.4.0 start\nError: PORT is not set\n    at config (/app/config.js:12:9)\n'),
    ),
    reads,
    facts: {
      revision: /\b7\b/,
      cause: /PORT/,
      'exit code': /\b(exit(s|ed)?( with)?( code| status)? 1|code 1)\b/i,
      'rolled back': /\b6\b/,
    },
    wrong: /out of memory/i,
    answer:
      'Revision 7 failed: the container exits with code 1 because `PORT` is not set. The app runs revision 6 again.',
  },
  {
    name: 'deployment: out of memory',
    question,
    page,
    state: after(
      'The container keeps running out of memory; raise its memory limit',
      pods('Loading 1,204,331 products\n'),
    ),
    reads,
    facts: { cause: /memory/i, 'what to do': /limit/i },
    wrong: /\bport\b/i,
    answer: 'Revision 7 runs out of memory while it loads its products. Raise the memory limit of the app.',
  },
  {
    name: 'deployment: a program that ends',
    question,
    page,
    state: after(
      'The container keeps exiting; an app has to keep running (exit code 0)',
      pods('migrated 3 tables\ndone\n'),
    ),
    reads,
    facts: {
      cause: /exit|ends|finish/i,
      code: /\b(code )?0\b|success/i,
      'what it needs': /keep|stay|long-running|run(s|ning)? (on|continuously)|\bjob\b/i,
    },
    answer:
      'The container exits with code 0 after it has migrated 3 tables, but an app has to keep running. Use a job for it.',
  },
  {
    name: 'deployment: an image that does not exist',
    question,
    page,
    state: after(
      'The image cannot be pulled (ImagePullBackOff): registry.example.com/shop/api:42: manifest unknown',
      pods(''),
    ),
    reads,
    facts: { cause: /pull/i, image: /api:42|:42|tag/i, reason: /manifest unknown|not (exist|found)|missing|no such/i },
    answer: 'The image `registry.example.com/shop/api:42` cannot be pulled: its tag does not exist (manifest unknown).',
  },
  {
    name: 'deployment: the name of an image is not valid',
    question,
    page,
    state: after(
      'InvalidImageName: couldn’t parse image name "registry.example.com/shop/API:42"',
      { pods: [] },
      { image: 'registry.example.com/shop/API:42' },
    ),
    reads,
    facts: { cause: /invalid|not (a )?valid|cannot be parsed|parse/i, image: /API:42|upper|capital/ },
    answer: 'The image name `registry.example.com/shop/API:42` is not valid: names take no upper-case letters.',
  },
  {
    name: 'deployment: another port',
    question,
    page,
    state: after(
      'The new pods did not become ready in time: nothing accepted a connection on port 8080 within 120 seconds; check that the app listens on this port.',
      pods('listening on http://127.0.0.1:3000\n'),
    ),
    reads,
    facts: { expected: /8080/, actual: /3000/ },
    answer:
      'The platform waits for port 8080, but the app listens on 127.0.0.1:3000. Listen on 0.0.0.0:8080, or set the port.',
  },
  {
    name: 'deployment: the health check fails',
    question,
    page,
    state: after(
      'The new pods did not become ready in time: GET /healthz on port 8080 did not return 2xx within 120 seconds.',
      pods('GET /healthz 500 connect ECONNREFUSED orders:5432\nGET /healthz 500 connect ECONNREFUSED orders:5432\n'),
    ),
    reads,
    facts: { check: /\/healthz/, status: /\b500\b|2xx/, cause: /orders|5432|database|ECONNREFUSED/i },
    answer:
      '`GET /healthz` returns 500, because the connection to the database `orders:5432` is refused (ECONNREFUSED).',
  },
  {
    name: 'deployment: no room in the cluster',
    question,
    page,
    state: after('No node has room for the new pods: 0/3 nodes are available: 3 Insufficient memory.', { pods: [] }),
    reads,
    facts: { cause: /room|insufficient|not enough|too little/i, resource: /memory/i },
    wrong: /crash/i,
    answer: 'No node has room for the new pods: all 3 nodes have insufficient free memory.',
  },
  {
    name: 'deployment: the release command fails',
    question,
    page,
    state: after(
      'The release command failed (exit code 1): relation "prices" already exists',
      pods('$ npm run migrate\n0012_prices: relation "prices" already exists\n'),
    ),
    reads,
    facts: { step: /release command|migrat/i, cause: /prices/i, reason: /already exists/i },
    answer:
      'The release command failed before any pod started: the migration `0012_prices` creates `prices`, which already exists.',
  },
  {
    name: 'deployment: the program is not in the image',
    question,
    page,
    state: after(
      'The container cannot be started (RunContainerError): exec: "/app/server": no such file or directory',
      { pods: [{ name: 'api-7-x2' }] },
    ),
    reads,
    facts: { cause: /start/i, file: /\/app\/server/, reason: /no such file|not exist|missing|not (in|part of|found)/i },
    answer: 'The container cannot be started, because `/app/server` is not in the image (no such file or directory).',
  },
  {
    name: 'build: a package that does not exist',
    question,
    page,
    state: after(
      'The build failed: RUN npm ci: exit status 1',
      build(
        'STEP 4/7: RUN npm ci\nnpm error code E404\nnpm error 404 Not Found - @shop/prices@3.1.0\nError: building at STEP "RUN npm ci"\n',
      ),
      { trigger: 'git' },
    ),
    reads,
    facts: { step: /build|npm ci/i, package: /@shop\/prices/, reason: /404|not found|does not exist/i },
    answer: 'The build failed at `npm ci`: the package `@shop/prices@3.1.0` is not found (404).',
  },
  {
    name: 'build: a test of the type checker',
    question,
    page,
    state: after(
      'The build failed: RUN npm run build: exit status 2',
      build(
        "STEP 6/7: RUN npm run build\nsrc/cart.ts(48,9): error TS2322: Type 'string' is not assignable to type 'number'.\n",
      ),
      { trigger: 'git' },
    ),
    reads,
    facts: { file: /cart\.ts/, line: /\b48\b/, error: /TS2322|string.*number|type/i },
    answer: 'The build failed in `src/cart.ts`, line 48: a string is assigned to a number (TS2322).',
  },
  {
    name: 'build: no Dockerfile',
    question,
    page,
    state: after(
      'The build failed: there is no file services/api/Dockerfile in the repository',
      build('Cloning main at 4c0ffee1d2\nthere is no file services/api/Dockerfile\n'),
      { trigger: 'git' },
    ),
    reads,
    facts: { file: /services\/api\/Dockerfile/, reason: /no |not |missing|lacks/i },
    answer: 'The build failed: the repository has no `services/api/Dockerfile`. Set the path with `svc app git set`.',
  },
  {
    name: 'deployment: superseded',
    question: 'What happened to revision 7 of api?',
    page,
    state: recording({
      deployments: [
        deployment({ id: idOf(8), revision: 8, status: 'succeeded', current: true, commitMessage: 'Fix it' }),
        deployment({ status: 'superseded', reason: 'Superseded by revision 8.' }),
      ],
      more: { [`/deployments/${failed}/logs`]: { pods: [] } },
    }),
    reads,
    facts: { end: /supersed|replaced/i, by: /\b8\b/ },
    wrong: /crash|it failed|has failed/i,
    answer: 'Revision 7 was superseded by revision 8, which is the current one.',
  },
  {
    name: 'deployment: cancelled',
    question: 'Who stopped revision 7 of api, and what runs now?',
    page,
    state: after('Cancelled by dana@example.com.', { pods: [] }, { status: 'cancelled', rolledBackTo: 6 }),
    reads,
    facts: { end: /cancel/i, who: /dana/i, now: /\b6\b/ },
    answer: 'dana@example.com cancelled revision 7. Revision 6 runs.',
  },
  {
    name: 'deployment: no rollback',
    question: 'Revision 7 failed. Why does the app not run?',
    page,
    state: recording({
      apps: [
        app({
          status: 'failed',
          readyReplicas: 0,
          autoRollback: false,
          message: 'The container keeps crashing (exit code 137)',
        }),
      ],
      deployments: [
        deployment({ reason: 'The container keeps crashing (exit code 137)', current: true }),
        { ...previous, current: false },
      ],
      more: {
        [`/deployments/${failed}/logs`]: pods('signal 9\n'),
        '/apps/api/logs': lines('api-7-x2', 'starting', 'signal 9'),
      },
    }),
    reads: [['show_workload', { kind: 'app', name: 'api' }], ...reads],
    facts: { cause: /137|kill|signal 9/i, rollback: /roll/i },
    answer: 'The container is killed (exit code 137), and automatic rollback is off for this app, so nothing runs.',
  },
];
