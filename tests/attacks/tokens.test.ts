import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import t, { type Test } from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { createDeploymentRoutes } from '../../functions/deployments/handler.ts';
import { createGitRoutes } from '../../functions/git/handler.ts';
import { createHistoryRoutes } from '../../functions/history/handler.ts';
import { createMemberRoutes } from '../../functions/members/handler.ts';
import { createProjectRoutes } from '../../functions/projects/handler.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { createTokenRoutes } from '../../functions/tokens/handler.ts';
import { streamReply } from '../../runtime/api/log-reply.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { accessTokenDigest } from '../../runtime/domain/access-token.ts';
import { tokenScopes, type TokenScope } from '../../runtime/domain/token-scopes.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { workloadLabels } from '../../runtime/domain/labels.ts';
import { checksum } from '../../runtime/domain/random-text.ts';
import { route } from '../../runtime/http/route.ts';
import { acceptDeployment } from '../../runtime/records/acceptance.ts';
import { projectWorkload } from '../../runtime/records/workloads.ts';
import { accessToken } from '../support/access-tokens.ts';
import { testApi } from '../support/api.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { recordingLog } from '../support/log.ts';
import { environmentId, platformConfigObject, readyProject, seedProject } from '../support/objects.ts';
import { signedIn } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';

const clock = systemClock;
const baseUrl = 'http://console.test';
const shop = '/api/v1/projects/shop';

/** A log that never ends. */
const endless = route({
  method: 'GET',
  path: '/projects/:project/endless',
  access: { project: 'viewer', scope: 'logs:read', environment: 'handler' },
  summary: 'Streams.',
  tag: 'test',
  replies: { 200: null },
  handle: ({ signal }) =>
    Promise.resolve(
      streamReply(clock, signal, async function* (stopped) {
        for (let line = 1; !stopped.aborted; line++) {
          yield { line };
          await clock.sleep(50, stopped).catch(() => undefined);
        }
      }),
    ),
});

/** A platform with the project `shop` (prod, dev), each environment with an app, and two replicas of its API. */
async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const [projectId, otherId] = [newId(), newId()];
  for (const [name, id] of [
    ['shop', projectId],
    ['blog', otherId],
  ] as const) {
    seedProject(kube, { name, id, environments: ['prod', 'dev'] });
  }
  kube.seed(platformConfigObject);
  const addApp = async (environment: string) => {
    const [id, namespace] = [newId(), `shop-${environment}`];
    kube.seed({
      apiVersion: 'platform.svc/v1',
      kind: 'App',
      metadata: { name: 'api', namespace, labels: workloadLabels({ kind: 'App', name: 'api', id }) },
      spec: { image: 'r.test/api:1', port: 8080, replicas: 1 },
    });
    await projectWorkload(pool, {
      id,
      kind: 'App',
      environmentId: newId(),
      project: 'shop',
      environment,
      namespace,
      name: 'api',
      gated: false,
    });
    const image = 'r.test/api:1';
    const accepted = await transaction(pool, (client) =>
      acceptDeployment(client, { workloadId: id, trigger: 'webhook', image }),
    );
    return accepted.id;
  };
  const deployments = { prod: await addApp('prod'), dev: await addApp('dev') };
  const recorded = recordingLog();
  const { authorize, visibleProjects } = createProjectAccess({ kube, pool });
  const replica = () =>
    testApi(t, {
      routes: [
        ...createTokenRoutes({ kube, pool, clock }),
        ...createMemberRoutes({ pool }),
        ...createProjectRoutes({ kube, visibleProjects, members: {} as never }),
        ...createAppRoutes({ kube, pool, clock, baseUrl, resolveTxt: () => Promise.resolve([]) }),
        ...createDeploymentRoutes({ kube, pool }),
        ...createHistoryRoutes({ kube, pool, baseUrl, verifyToken: () => Promise.reject(new Error('no webhook')) }),
        ...createGitRoutes({ kube, pool, baseUrl }),
        endless,
      ],
      authenticate: createAuthenticate({ pool, clock, baseUrl }),
      authorize,
      log: recorded.log,
    });
  const [api, second] = [await replica(), await replica()];
  const boss = await signedIn(pool, 'boss', { projects: { [projectId]: 'admin', [otherId]: 'admin' } });
  const tokenWith = (scopes: TokenScope[], options: Partial<Parameters<typeof accessToken>[2]> = {}) =>
    accessToken(pool, boss, { projectId, scopes, ...options });
  const prod = { id: environmentId, name: 'prod' };
  return { pool, kube, projectId, deployments, api, second, boss, tokenWith, prod, recorded };
}

t.test('near misses: cut, changed, padded and made-up tokens have one answer', async (t) => {
  const { pool, api, tokenWith, boss, projectId } = await world(t);
  const { text, headers } = await tokenWith(['read']);
  const expired = await accessToken(pool, boss, { projectId, scopes: ['read'], expiresAt: new Date(Date.now() - 1) });
  const revoked = await tokenWith(['read']);
  await api.call('DELETE', `${shop}/tokens/${revoked.name}`, { headers: boss.headers });
  t.equal((await api.call('GET', shop, { headers })).status, 200);
  // Of the same handle, with a valid checksum and another secret.
  const forge = (body: string) => body + checksum(body);
  const guesses = [
    expired.text,
    revoked.text,
    forge(`${text.slice(0, 14)}${'a'.repeat(40)}`),
    forge(`svct_aaaaaaaa_${'a'.repeat(40)}`),
    text.slice(0, -1),
    text.slice(0, 14),
    text.slice(0, 13),
    'svct_',
    `${text}x`,
    `${text}%00`,
    text.toUpperCase(),
    `svct_${'a'.repeat(7_000)}`,
    accessTokenDigest(text).toString('hex'),
    `svct_${accessTokenDigest(text).toString('hex')}`,
    `svct_%_${'_'.repeat(46)}`,
  ];
  const answers = new Set<string>();
  for (const guess of guesses) {
    const answer = await api.call('GET', shop, { headers: { authorization: `Bearer ${guess}` } });
    t.equal(answer.status, 401, guess.slice(0, 30));
    if (guess.startsWith('svct_')) answers.add(answer.text);
    t.notMatch(answer.text, text.slice(14));
  }
  t.equal(answers.size, 1, 'one answer for all that begin as a token does');
  for (const header of ['bearer', `Basic ${text}`, `Bearer ${text} ${text}`, `Token ${text}`, text]) {
    t.equal((await api.call('GET', shop, { headers: { authorization: header } })).status, 401, header.slice(0, 20));
  }
  const inQuery = await api.call('GET', `${shop}?access_token=${text}`, { headers: { authorization: '' } });
  t.equal(inQuery.status, 401, 'not in a query');
  await pool.query(`UPDATE access_tokens SET digest = ''`);
  t.equal((await api.call('GET', shop, { headers })).status, 401, 'a digest that was damaged opens nothing');
});

t.test('a token opens no account, member, token or platform route, and creates no stronger token', async (t) => {
  const { api, pool, projectId, tokenWith } = await world(t);
  const { headers, name } = await tokenWith([...tokenScopes]);
  const body = { name: 'more', scopes: ['write'], expiresAt: new Date(Date.now() + 300 * 86_400_000).toISOString() };
  for (const [method, path, sent] of [
    ['POST', `${shop}/tokens`, body],
    ['GET', `${shop}/tokens`],
    ['GET', `${shop}/tokens/${name}`],
    ['DELETE', `${shop}/tokens/${name}`],
    ['GET', `${shop}/members`],
    ['PUT', `${shop}/members/boss@svc.local`, { role: 'admin' }],
    ['DELETE', `${shop}/members/boss@svc.local`],
    ['DELETE', shop],
    ['POST', `${shop}/environments`, { name: 'more' }],
    ['DELETE', `${shop}/environments/prod`],
    ['GET', '/api/v1/projects'],
    ['POST', '/api/v1/projects', { name: 'mine', environments: ['prod'] }],
  ] as const) {
    const answer = await api.call(method, path, { headers, ...(sent && { body: sent }) });
    t.match(answer, { status: 403, body: { code: 'forbidden' } }, `${method} ${path}`);
  }
  const { rows } = await pool.query('SELECT name FROM access_tokens WHERE project_id = $1', [projectId]);
  t.same(rows, [{ name }]);
});

t.test('a token of another project sees a project that does not exist, whatever its user may do there', async (t) => {
  const { api, tokenWith } = await world(t);
  const { headers } = await tokenWith([...tokenScopes]);
  const withoutProject = (text: string) => text.replaceAll(/blog|none/g, 'x');
  for (const [method, below] of [
    ['GET', ''],
    ['GET', '/apps'],
    ['POST', '/apps'],
    ['GET', '/tokens'],
    ['GET', '/apps/api/logs'],
  ] as const) {
    const answers = await Promise.all(
      ['blog', 'none'].map((name) => api.call(method, `/api/v1/projects/${name}${below}`, { headers })),
    );
    t.same(
      answers.map(({ status, text }) => [status, withoutProject(text)]),
      [
        [404, withoutProject(answers[0]?.text ?? '')],
        [404, withoutProject(answers[0]?.text ?? '')],
      ],
      below,
    );
  }
});

t.test('a token of one environment reaches nothing of another', async (t) => {
  const { api, kube, projectId, deployments, tokenWith, prod } = await world(t);
  const { headers } = await tokenWith(['write', 'logs:read'], { environment: prod });
  const status = async (method: string, path: string, body?: object) =>
    (await api.call(method, `${shop}${path}`, { headers, ...(body && { body }) })).status;
  t.equal(await status('GET', `/deployments/${deployments.prod}`), 200, 'its own');
  const other = deployments.dev;
  for (const path of [`/deployments/${other}`, `/deployments/${other}/logs`, `/builds/${other}/logs`]) {
    t.equal(await status('GET', path), 404, path);
  }
  t.equal(await status('POST', `/deployments/${other}/cancel`), 404);
  t.equal(await status('POST', '/apps/api/promote', { from: 'prod', to: 'dev' }), 403);
  t.equal(await status('POST', '/apps/api/promote', { from: 'dev', to: 'prod' }), 403);
  t.equal(await status('PATCH', '/apps/api?environment=dev', { image: 'r.test/api:2' }), 403);
  const listed = await api.call('GET', `${shop}/deployments`, { headers });
  t.same(
    listed.body.items.map((item: { id: string }) => item.id),
    [deployments.prod],
  );
  for (const [path, list] of [
    ['', 'environments'],
    ['/environments', 'items'],
  ] as const) {
    const { body } = await api.call('GET', `${shop}${path}`, { headers });
    t.same(
      body[list].map(({ name }: { name: string }) => name),
      ['prod'],
      `GET ${path}`,
    );
  }
  // A new environment of the same name has another identity.
  const [project] = readyProject('shop');
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Project', name: 'shop' });
  const recreated = { metadata: { name: 'shop', labels: { 'platform.svc/id': projectId } } };
  const spec = { environments: [{ name: 'prod', id: newId() }] };
  if (project) kube.seed({ ...project, ...recreated, spec });
  t.equal(await status('GET', '/apps'), 404, 'recreated under its name');
});

t.test('a token for deploying deploys an image and changes nothing else; its name is in the history', async (t) => {
  const { api, tokenWith, recorded, boss } = await world(t);
  const deploy = await tokenWith(['deploy']);
  const patch = (body: object, { headers } = deploy) =>
    api.call('PATCH', `${shop}/apps/api?environment=prod`, { headers, body });
  for (const settings of [
    { env: { A: 'b' } },
    { replicas: 3 },
    { extraHosts: ['a.shop.test'] },
    { autoRollback: false },
  ]) {
    for (const body of [settings, { image: 'r.test/api:2', ...settings }]) {
      const answer = await patch(body);
      t.match(answer, { status: 403, body: { code: 'scope_missing', details: { needs: 'write' } } });
    }
  }
  t.equal((await patch({ image: 'r.test/api:2' }, await tokenWith(['read', 'logs:read']))).status, 403);
  // A promotion that creates an app sets all its settings.
  const promotion = { from: 'prod', to: 'dev', create: true, secrets: { A: 'b' } };
  const created = await api.call('POST', `${shop}/apps/api/promote`, { headers: deploy.headers, body: promotion });
  t.match(created, { status: 403, body: { code: 'scope_missing', details: { needs: 'write' } } });
  const { status, body } = await patch({ image: 'r.test/api:2' });
  t.equal(status, 202);
  const { headers } = deploy;
  const shown = await api.call('GET', `${shop}/deployments/${body.id}`, { headers });
  t.match(shown.body, { actor: `token ${deploy.name}` });
  t.match(
    recorded.entries.find(({ action }) => action === 'app.update'),
    { actor: `token ${deploy.name}`, token: { id: deploy.id, user: boss.email } },
  );
  t.notMatch(recorded.text(), deploy.text.slice(14));
});

t.test('a revoked token is refused by the next request of every replica, and its streams end', async (t) => {
  const { api, second, tokenWith, boss } = await world(t);
  const { headers, name } = await tokenWith(['read', 'logs:read']);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${second.url}${shop}/endless`, { headers }, resolve).on('error', reject);
  });
  t.equal(response.statusCode, 200);
  await once(response, 'data');
  const ended = new Promise<void>((resolve) => response.once('error', () => resolve()).once('close', resolve));
  for (const each of [api, second]) t.equal((await each.call('GET', shop, { headers })).status, 200);
  t.equal((await api.call('DELETE', `${shop}/tokens/${name}`, { headers: boss.headers })).status, 204);
  for (const each of [second, api]) t.equal((await each.call('GET', shop, { headers })).status, 401);
  response.resume();
  await ended;
  t.pass('the stream has ended');
});

t.test('a stream ends with its session, too', async (t) => {
  const { pool, api, boss } = await world(t);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${api.url}${shop}/endless`, { headers: boss.headers }, resolve).on('error', reject);
  });
  await once(response, 'data');
  const ended = new Promise<void>((resolve) => response.once('error', () => resolve()).once('close', resolve));
  await pool.query('UPDATE users SET disabled_at = now() WHERE id = $1', [boss.id]);
  response.resume();
  await ended;
  t.pass('the stream has ended');
});

t.test('an open stream ends when its user leaves the project', async (t) => {
  const { pool, api, boss, projectId } = await world(t);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${api.url}${shop}/endless`, { headers: boss.headers }, resolve).on('error', reject);
  });
  await once(response, 'data');
  const ended = new Promise<void>((resolve) => response.once('error', () => resolve()).once('close', resolve));
  await pool.query('DELETE FROM project_members WHERE project_id = $1 AND user_id = $2', [projectId, boss.id]);
  response.resume();
  await ended;
  t.pass('the stream has ended');
});
