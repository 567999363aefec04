import { createHmac, randomBytes } from 'node:crypto';
import t from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { createHistoryRoutes } from '../../functions/history/handler.ts';
import { createKeyRoutes } from '../../functions/keys/handler.ts';
import { createPlanRoutes } from '../../functions/plans/handler.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { ensureFirstAdmin } from '../../functions/sessions/first-admin.ts';
import { createDevices } from '../../functions/sessions/devices.ts';
import { createSessionRoutes } from '../../functions/sessions/handler.ts';
import { createLoginLimit } from '../../functions/sessions/login-limit.ts';
import { createPasswords } from '../../functions/sessions/password.ts';
import { createUsageRoutes } from '../../functions/usage/handler.ts';
import { createWebhookRoutes } from '../../functions/webhooks/handler.ts';
import { createTokenStore } from '../../functions/webhooks/token-store.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { environmentsOf, resolveEnvironment } from '../../runtime/kube/environments.ts';
import { KubeError } from '../../runtime/kube/kube-client.ts';
import { findWorkload, projectWorkload } from '../../runtime/records/workloads.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { testApi } from '../support/api.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { recordingLog } from '../support/log.ts';
import { environmentId, seedShop } from '../support/objects.ts';
import { testDatabase } from '../support/postgres.ts';
import { webhookParts } from '../support/webhooks.ts';

const baseUrl = 'http://console.test';
const project = '/api/v1/projects/shop';

/** Neither log redacts here, because no code may depend on redaction. */
t.test('no generated secret is in any log line, metric or refusal', async (t) => {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  seedShop(kube);
  const recorded = recordingLog();
  const registry = createMetrics();
  const passwords = createPasswords();
  const clock = systemClock;
  const email = 'admin@svc.local';
  const password = randomBytes(18).toString('base64url');
  const passwordFile = `${t.testdir({ password })}/password`;
  await ensureFirstAdmin({ pool, passwords, log: recorded.log, email, passwordFile });
  const ringKey = randomBytes(32);
  const keyRing = { current: 'k1', keys: new Map([['k1', ringKey]]) };
  const tokens = createTokenStore({ kube, keyRing, log: recorded.log });
  const webhooks = webhookParts({ kube, pool, tokens, clock, registry });
  const gate = {
    pool,
    resolveEnvironment: (name: string, environment?: string) => resolveEnvironment(kube, name, environment),
    projectEnvironments: async (name: string) => {
      const lines = await kube.get<Project>(kinds.Project, name);
      return lines ? environmentsOf(lines) : [];
    },
  };
  const api = await testApi(t, {
    log: recorded.log,
    registry,
    authenticate: createAuthenticate({ pool, clock, baseUrl }),
    routes: [
      ...createSessionRoutes({
        pool,
        clock,
        passwords,
        loginLimit: createLoginLimit({ pool, clock }),
        devices: createDevices({ keyRing, clock }),
        baseUrl,
      }),
      ...createAppRoutes({ kube, pool, clock, baseUrl }),
      ...createWebhookRoutes(webhooks),
      ...createHistoryRoutes({ kube, pool, verifyToken: webhooks.verify, baseUrl }),
      ...createPlanRoutes(gate),
      ...createKeyRoutes({ ...gate, clock, findGated: (namespace, name) => findWorkload(pool, namespace, name) }),
      ...createUsageRoutes({ ...gate, clock }),
    ],
  });
  const refusals: string[] = [];
  const call: typeof api.call = async (method, path, options) => {
    const answer = await api.call(method, path, options);
    if (answer.status >= 400) refusals.push(answer.text, JSON.stringify([...answer.headers]));
    return answer;
  };

  // Answers that are meant to show a secret show it.
  const login = await call('POST', '/api/v1/session', { body: { email, password }, headers: { authorization: '' } });
  const token: string = login.body.token;
  const headers = { authorization: `Bearer ${token}` };
  const image = 'registry.test/shop/api:v1';
  const created = await call('POST', `${project}/apps`, { headers, body: { name: 'api', image } });
  await projectWorkload(pool, {
    id: created.body.id,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  const first: string = (await call('PUT', `${project}/apps/api/webhook`, { headers })).body.token;
  const second: string = (await call('PUT', `${project}/apps/api/webhook`, { headers })).body.token;
  const plan = { name: 'basic', requestsPerSecond: 5, burst: 5 };
  t.equal((await call('POST', `${project}/plans`, { headers, body: plan })).status, 201);
  const apiKey: string = (await call('POST', `${project}/api-keys`, { headers, body: { plan: 'basic' } })).body.key;
  const handle = apiKey.slice('svc_'.length, 'svc_'.length + 8);
  const rotated: string = (await call('POST', `${project}/api-keys/${handle}/rotate`, { headers })).body.key;
  t.match([token, first, second, apiKey, rotated], [/^svcs_/, /^svcwh_/, /^svcwh_/, /^svc_/, /^svc_/]);

  // Every way to be refused with a secret in the request.
  const hook = '/api/v1/webhook/shop-prod/api';
  await call('POST', hook, { headers: { authorization: '', 'x-svc-token': second }, body: { image } });
  const secretUrl: string = (await call('PATCH', `${project}/apps/api/webhook`, { headers, body: { secretUrl: true } }))
    .body.secretUrl;
  const urlSecret = secretUrl.slice(secretUrl.lastIndexOf('/') + 1);
  t.match(urlSecret, /^svcwh_/);
  const pushed = { docker_url: 'registry.test/shop/api', updated_tags: ['v2'], password, more: [urlSecret, second] };
  t.equal((await call('POST', `${hook}/${urlSecret}`, { body: pushed })).status, 202);
  t.equal((await call('POST', `${hook}/${urlSecret}`, { body: { token, ...pushed, docker_url: second } })).status, 200);
  const refused: [string, string, { headers?: Record<string, string>; body?: unknown }][] = [
    ['POST', '/api/v1/session', { body: { email, password: `${password}x` } }],
    ['POST', '/api/v1/session', { body: { email, password, more: password } }],
    ['POST', '/api/v1/session', { body: `{"email":"${email}","password":"${password}"` }],
    ['POST', '/api/v1/session', { body: { email: 7, password: [password] } }],
    ['GET', `/api/v1/session?token=${token}`, { headers: { authorization: `Basic ${token}` } }],
    ['GET', `/api/v1/none/${token}?key=${apiKey}`, { headers }],
    ['POST', `${project}/apps`, { headers, body: { name: apiKey, image: first } }],
    ['POST', `${project}/apps/${second}/rollback`, { headers }],
    ['GET', `${project}/deployments/${second}`, { headers }],
    ['GET', `${project}/api-keys/${apiKey}`, { headers }],
    ['PATCH', `${project}/api-keys/${apiKey}`, { headers, body: { enabled: false } }],
    ['POST', `${project}/api-keys/${rotated}/rotate`, { headers }],
    ['POST', `${project}/api-keys/${handle}/rotate`, { headers }],
    ['GET', `${project}/api-keys/${rotated}/usage`, { headers }],
    ['DELETE', `${project}/api-keys/${rotated}`, { headers }],
    ['PATCH', `${project}/apps/api`, { headers, body: { image: second } }],
    ['POST', hook, { headers: { 'x-svc-token': first }, body: { image } }],
    ['POST', hook, { headers: { 'x-svc-token': second }, body: `{"image": ${second}` }],
    ['POST', hook, { headers: { 'x-svc-token': second }, body: { commit: second } }],
    ['POST', `${hook}/${second}`, { body: { image } }],
    ['POST', `${hook}/${urlSecret}`, { body: { image: second } }],
    ['POST', `${hook}/${urlSecret}`, { body: `{"image": ${urlSecret}` }],
    ['POST', `/api/v1/webhook/shop-prod/web/${urlSecret}`, { body: pushed }],
    ['GET', `${hook}/${urlSecret}`, {}],
    ['POST', `/api/v1/webhook/shop-prod/${second}`, { headers: { 'x-svc-token': second }, body: { image } }],
    ['POST', hook, { headers: { 'x-hub-signature-256': createHmac('sha256', first).digest('hex') }, body: {} }],
  ];
  for (const [method, path, options] of refused) {
    const answer = await call(method, path, options);
    t.ok(answer.status >= 400 && answer.status < 500, `${answer.status} for ${method} ${path.split(/[?]/)[0]}`);
  }

  // Every way for a store to fail.
  kube.intercept = ({ verb, kind }) => {
    if (kind === 'Secret' && verb !== 'get') throw new KubeError(500, 'InternalError', 'the webhook refused');
  };
  t.equal((await call('PUT', `${project}/apps/api/webhook`, { headers })).status, 503);
  kube.intercept = undefined;
  const third: string = (await call('PUT', `${project}/apps/api/webhook`, { headers })).body.token;
  const [secret] = kube.all<KubeObject & { data: Record<string, string> }>(kinds.Secret);
  const sealed = secret?.data['v3'] ?? '';
  await kube.mergePatch(
    { apiVersion: 'v1', kind: 'Secret', namespace: 'shop-prod', name: 'app-api-webhook' },
    { data: { v3: Buffer.from(`${Buffer.from(sealed, 'base64').toString()}A`).toString('base64') } },
  );
  t.equal((await call('POST', hook, { headers: { 'x-svc-token': third }, body: { image } })).status, 401);
  await pool.query('ALTER TABLE api_keys RENAME TO api_keys_gone');
  t.equal((await call('POST', `${project}/api-keys`, { headers, body: { plan: 'basic' } })).status, 500);
  await pool.query('ALTER TABLE sessions ADD CONSTRAINT none CHECK (false) NOT VALID');
  t.equal((await call('POST', '/api/v1/session', { body: { email, password } })).status, 500);
  await pool.query('ALTER TABLE sessions RENAME TO sessions_gone');
  t.equal((await call('GET', '/api/v1/session', { headers })).status, 500);

  const { rows: stored } = await pool.query('SELECT * FROM webhook_deliveries');
  t.ok(stored.length > 4);
  const rows = stored.map((row) => JSON.stringify(row));
  const output = [recorded.text(), await registry.metrics(), ...refusals, ...rows].join('\n');
  t.match(output, 'cannot decrypt a webhook token', 'the failures were logged');
  const secrets = {
    password,
    token,
    first,
    second,
    third,
    urlSecret,
    apiKey,
    rotated,
    ring: ringKey.toString('base64'),
  };
  const paths = refused.map(([, path]) => path).join('\n');
  for (const [name, value] of Object.entries(secrets)) {
    const lines = output.split('\n').filter((line) => line.includes(value));
    t.same(lines, [], name);
  }
  t.match(paths, second, 'some of the requests carried secrets in their paths');
});
