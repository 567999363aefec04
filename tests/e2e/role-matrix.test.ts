import { randomBytes } from 'node:crypto';
import t from 'tap';
import { figureLine } from '../bench/figure.ts';
import { runningPlatform, testProject, uniqueName } from '../support/platform.ts';
import { documentedOperations, pathOf, type Operation } from '../support/openapi.ts';

/**
 * Every documented route, called by every kind of caller in a project of their own and in one of others: a caller whose
 * role is too low is refused before anything happens. The routes come from the OpenAPI document, so that a new one is
 * tried as well; docs/reference/roles.md says who may do what.
 */
const platform = await runningPlatform();
const ranks = ['viewer', 'deployer', 'admin'] as const;
type Rank = (typeof ranks)[number];

interface Person {
  name: string;
  token: string | undefined;
  /** The role in the project under attack. */
  rank: Rank | undefined;
}

const api = (method: string, path: string, { token, body }: { token?: string | undefined; body?: object } = {}) =>
  platform.request(`${platform.info.api}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });

const { project, flags } = await testProject(t, platform);
await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);

/** A user of the platform, deleted when the file ends, with a role in the project. */
async function person(name: string, rank?: Rank): Promise<Person> {
  const email = `${uniqueName(name)}@example.com`;
  const created = await platform.json<{ oneTimePassword: string }>(['user', 'create', email]);
  t.teardown(() => platform.ok(['user', 'delete', email, '--yes']));
  const password = randomBytes(18).toString('base64url');
  const signIn = async (secret: string) =>
    (await api('POST', '/api/v1/session', { body: { email, password: secret } })).json()['token'] as string;
  const body = { currentPassword: created.oneTimePassword, newPassword: password };
  const changed = await api('PUT', '/api/v1/users/me/password', { token: await signIn(created.oneTimePassword), body });
  if (changed.status >= 300) throw new Error(`${name} cannot choose a password: ${changed.body}`);
  if (rank) await platform.ok(['member', 'set', email, '--role', rank, '--project', project]);
  return { name, token: await signIn(password), rank };
}

const people: Person[] = [
  { name: 'nobody', token: undefined, rank: undefined },
  { name: 'wrong token', token: 'x'.repeat(43), rank: undefined },
  await person('stranger'),
  await person('viewer', 'viewer'),
  await person('deployer', 'deployer'),
];

/** The statuses with which a caller must be refused; undefined when the call may succeed. */
function refusal({ description, security }: Operation, { token, rank, name }: Person): number[] | undefined {
  if (security.length === 0) return undefined;
  if (token === undefined || name === 'wrong token') return [401];
  const needed = /Requires the role (\w+) in the project/.exec(description)?.[1] as Rank | undefined;
  if (needed) {
    if (rank === undefined) return [404];
    return ranks.indexOf(rank) < ranks.indexOf(needed) ? [403] : undefined;
  }
  return description.includes('Requires a platform admin') ? [403] : undefined;
}

/** Names that exist, so that nothing but the role refuses the caller. */
const names: Record<string, string> = { project, app: 'api', environment: 'prod' };
const someId = '019a0000-0000-7000-8000-000000000003';

/** Of the whole file. */
const matrix = { requests: 0, deviations: 0 };
t.teardown(() => {
  const none = { operator: '<=', value: 0 } as const;
  t.comment(figureLine({ name: 'role-matrix.requests', value: matrix.requests, unit: 'requests' }));
  t.comment(figureLine({ name: 'role-matrix.deviations', value: matrix.deviations, unit: 'answers', target: none }));
});

t.test('every documented route refuses every caller whose role is too low', async (t) => {
  const operations = await documentedOperations(platform);
  const deviations: string[] = [];
  for (const operation of operations) {
    const path = pathOf(operation, ({ name }) => names[name] ?? someId);
    for (const caller of people) {
      const expected = refusal(operation, caller);
      // Webhooks take a token of their own.
      const webhook = JSON.stringify(operation.security).includes('webhookToken');
      if (!expected || (webhook && caller.token === undefined)) continue;
      const { method } = operation;
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
      const answer = await api(method, `${path}?environment=prod`, { token: caller.token, ...body });
      matrix.requests++;
      if (!expected.includes(answer.status)) {
        deviations.push(`${caller.name}: ${method} ${path} answered ${answer.status}, not ${expected.join(' or ')}`);
      }
    }
  }
  matrix.deviations += deviations.length;
  t.ok(matrix.requests > 300, `${matrix.requests} requests sent`);
  t.same(deviations, []);
  t.match(await platform.ok(['app', 'show', 'api', ...flags]), /Status: +running/, 'nothing has happened to the app');
});

t.test('roles of one project open nothing in another', async (t) => {
  const other = await testProject(t, platform);
  const operations = (await documentedOperations(platform)).filter(({ description }) =>
    description.includes('in the project'),
  );
  const deviations: string[] = [];
  for (const operation of operations) {
    const path = pathOf(operation, ({ name }) => (name === 'project' ? other.project : (names[name] ?? someId)));
    for (const caller of people.filter(({ rank }) => rank !== undefined)) {
      const body = operation.method === 'GET' || operation.method === 'DELETE' ? {} : { body: {} };
      const answer = await api(operation.method, `${path}?environment=prod`, { token: caller.token, ...body });
      matrix.requests++;
      if (answer.status !== 404) deviations.push(`${caller.name}: ${operation.method} ${path}: ${answer.status}`);
    }
  }
  matrix.deviations += deviations.length;
  t.same(deviations, []);
});
