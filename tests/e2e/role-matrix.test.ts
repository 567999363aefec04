import { randomBytes } from 'node:crypto';
import t from 'tap';
import { includesScope, tokenScopes, type TokenScope } from '../../runtime/domain/token-scopes.ts';
import { figureLine } from '../bench/figure.ts';
import { runningPlatform, testProject, uniqueName } from '../support/platform.ts';
import { documentedOperations, pathOf, type Operation } from '../support/openapi.ts';

/**
 * Every documented route, called by every kind of caller and with access tokens, in a project of their own and in one of
 * others: a caller whose role or scope is too low is refused before anything happens. The routes come from the OpenAPI document, so that a new one is
 * tried as well; docs/reference/roles.md says who may do what, and tokens.md
 * what tokens may do.
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
  await person('project-admin', 'admin'),
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

/** The scope with which an access token may call an operation: none for one without a scope, undefined for users only. */
function scopeOf({ security }: Operation): TokenScope | 'none' | undefined {
  const scheme = (security as { accessToken?: TokenScope[] }[]).find(({ accessToken }) => accessToken);
  return scheme && (scheme.accessToken?.[0] ?? 'none');
}

const createToken = (name: string, scopes: readonly TokenScope[], ...limits: string[]) =>
  platform.ok(['token', 'create', name, '--scope', scopes.join(','), '--project', project, ...limits]);

t.test('access tokens are refused without the scope, in other projects and in other environments', async (t) => {
  const other = await testProject(t, platform);
  // Each is a token of a platform admin, so that nothing but the token limits the caller.
  const everything = await createToken('everything', tokenScopes);
  const production = await createToken('production', tokenScopes, '--environment', 'prod');
  const calls: { name: string; token: string; at: string; environment: string; scopes: readonly TokenScope[] }[] = [
    ...(await Promise.all(
      tokenScopes.map(async (scope, index) => ({
        name: scope,
        token: await createToken(`only-${index}`, [scope]),
        at: project,
        environment: 'prod',
        scopes: [scope],
      })),
    )),
    { name: 'another project', token: everything, at: other.project, environment: 'prod', scopes: [] },
    { name: 'another environment', token: production, at: project, environment: 'dev', scopes: [] },
  ];
  // A webhook takes no bearer token, and a public route none at all.
  const operations = (await documentedOperations(platform)).filter(({ security }) =>
    JSON.stringify(security).includes('bearer'),
  );
  const deviations: string[] = [];
  for (const operation of operations) {
    const needed = scopeOf(operation);
    if (needed === 'none') continue;
    const inProject = operation.description.includes('in the project');
    for (const { name, token, at, environment, scopes } of calls) {
      if (needed && includesScope(scopes, needed)) continue;
      const takesEnvironment = operation.parameters.some((parameter) => parameter.name === 'environment');
      // Found by id, which is another test's: tests/attacks/tokens.test.ts.
      if (needed && name === 'another environment' && !takesEnvironment) continue;
      const path = pathOf(operation, (parameter) =>
        parameter.name === 'project'
          ? at
          : parameter.name === 'token'
            ? 'everything'
            : (names[parameter.name] ?? someId),
      );
      const body = operation.method === 'GET' || operation.method === 'DELETE' ? {} : { body: {} };
      const answer = await api(operation.method, `${path}?environment=${environment}`, { token, ...body });
      matrix.requests++;
      const expected = inProject && at !== project ? 404 : 403;
      if (answer.status !== expected) {
        deviations.push(`${name}: ${operation.method} ${path} answered ${answer.status}, not ${expected}`);
      }
    }
  }
  matrix.deviations += deviations.length;
  t.same(deviations, []);
  t.match(await platform.ok(['token', 'list', '--project', project]), /^everything +read,logs:read,deploy,write +all/m);
});

t.test('a pipeline deploys with an access token, until it is revoked', async (t) => {
  const token = await createToken('ci', ['deploy'], '--environment', 'prod');
  const variables = { SVC_TOKEN: token, SVC_PROJECT: project };
  const run = (...args: string[]) => platform.svc(args, undefined, variables);
  t.match(await run('whoami'), { code: 0, stdout: /Token: +ci[^]+Environment: +prod[^]+Scopes: +deploy/ });
  const deployed = await run('app', 'deploy', 'api', '--image', 'localhost:5000/svc/hello:v2');
  t.equal(deployed.code, 0, deployed.stderr);
  t.match(await platform.ok(['deployment', 'list', ...flags]), /token ci/);
  t.match(await run('app', 'logs', 'api'), { code: 1, stderr: /scope "logs:read".*\(scope_missing\)/ });
  t.match(await run('token', 'create', 'more', '--scope', 'read'), { code: 1, stderr: /\(forbidden\)/ });
  t.match(await platform.ok(['token', 'show', 'ci', '--project', project]), /Last used: +[^n ]/);
  const tool = async (name: string, args: object) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    return (await api('POST', '/mcp', { token, body })).body;
  };
  t.match(await tool('show_workload', { kind: 'app', name: 'api' }), /\\"image\\":\\"localhost:5000\/svc\/hello:v2/);
  t.match(await tool('show_logs', { kind: 'app', name: 'api' }), /scope_missing/);
  const restart = { kind: 'app', name: 'api' };
  t.match(await tool('restart_workload', restart), /svc app restart api --project \S+/, 'prepared');
  t.match(await tool('restart_workload', { ...restart, confirm: true }), /\\"sent\\":true/);
  await platform.ok(['token', 'revoke', 'ci', '--project', project, '--yes']);
  t.match(await run('app', 'list'), { code: 4, stderr: /unknown, expired or revoked/ });
});
