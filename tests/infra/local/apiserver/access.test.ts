import { createSecretKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { accessManifests } from '../../../../infra/manifests/platform/access.ts';
import { selfSignedCertificate } from '../../../../infra/local/apiserver/certificate.ts';
import { signToken, tokenIssuer, verifyToken } from '../../../../infra/local/apiserver/tokens.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { isKubeError } from '../../../../runtime/kube/kube-client.ts';
import { fakeClock } from '../../../support/clock.ts';
import { startApi, type ApiUnderTest } from '../../../support/local-api.ts';

const namespaced = (kind: string, name: string, more: object = {}, apiVersion = 'v1') =>
  ({ apiVersion, kind, metadata: { name, namespace: 'default' }, ...more }) as KubeObject;
const rbac = 'rbac.authorization.k8s.io/v1';
const tokenPath = (name: string, namespace = 'default') =>
  `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;

async function account(api: ApiUnderTest, name: string, spec: object = {}): Promise<string> {
  await api.kube.create(namespaced('ServiceAccount', name));
  const { status, body } = await api.ask('POST', tokenPath(name), { spec });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return String(body.status.token);
}

const refused = (call: Promise<unknown>) =>
  call.then(
    () => 'allowed',
    (error: unknown) => (isKubeError(error) ? error.status : error),
  );

t.test('without a valid token only the health of the server is visible', async (t) => {
  const { ask } = await startApi(t);
  for (const token of ['', 'x', 'a.b.c', `${Buffer.from('{}').toString('base64url')}.e30.`]) {
    t.match(await ask('GET', '/api/v1/namespaces', undefined, { token }), {
      status: 401,
      body: { kind: 'Status', reason: 'Unauthorized' },
    });
  }
  t.match(await ask('GET', '/readyz', undefined, { token: '' }), { status: 200, body: 'ok' });
});

t.test(
  'a token for another audience can be reviewed with permission, and does not authenticate requests',
  async (t) => {
    const api = await startApi(t);
    const token = await account(api, 'bot', { audiences: ['svc-events'] });
    const review = async (spec: object, as?: { token: string }) => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec };
      const answer = await api.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', body, as);
      return answer.status === 201 ? (answer.body.status as unknown) : answer.status;
    };
    t.match(await review({ token, audiences: ['svc-events', 'other'] }), {
      authenticated: true,
      audiences: ['svc-events'],
      user: { username: 'system:serviceaccount:default:bot' },
    });
    t.notHas(await review({ token, audiences: ['other'] }), { authenticated: true });
    t.notHas(await review({ token }), { authenticated: true }, 'not one for the server itself');
    t.notHas(await review({ token: `${token}x`, audiences: ['svc-events'] }), { authenticated: true });
    t.equal(await review({ token, audiences: ['svc-events'] }, { token }), 401);
  },
);

t.test('an account has exactly the rights of its roles, in their namespaces', async (t) => {
  const api = await startApi(t);
  await api.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
  const bot = api.as(await account(api, 'bot'));
  const secret = () => refused(bot.get(kinds.Secret, 'none', 'default'));
  t.equal(await secret(), 403);
  const denied = await bot.list(kinds.Secret, { namespace: 'default' }).catch((error: unknown) => error);
  t.match(denied, {
    message:
      'secrets is forbidden: User "system:serviceaccount:default:bot" cannot list resource "secrets" in API group "" in the namespace "default"',
  });
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['none'] }];
  await api.kube.create(namespaced('Role', 'reader', { rules }, rbac));
  const subjects = [{ kind: 'ServiceAccount', name: 'bot', namespace: 'default' }];
  const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: 'reader' });
  await api.kube.create(namespaced('RoleBinding', 'reader', { roleRef: roleRef('Role'), subjects }, rbac));
  t.equal(await secret(), 'allowed');
  t.equal(await refused(bot.get(kinds.Secret, 'another', 'default')), 403, 'only the one that is named');
  t.equal(await refused(bot.get(kinds.Secret, 'none', 'other')), 403, 'only in its namespace');
  t.equal(await refused(bot.list(kinds.Secret, { namespace: 'default' })), 403);
  const everywhere = [{ apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['*'] }];
  const clusterRole = { apiVersion: rbac, kind: 'ClusterRole', metadata: { name: 'reader' }, rules: everywhere };
  const clusterBinding = {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'r' },
    roleRef: roleRef('ClusterRole'),
    subjects,
  };
  await api.kube.create(clusterRole);
  await api.kube.create(clusterBinding);
  t.equal(await bot.getScale('other', 'web'), undefined, 'a subresource, in any namespace');
  t.equal(await refused(bot.get(kinds.Deployment, 'web', 'other')), 403, 'and not the object itself');
  const role = await api.kube.get<KubeObject & { rules: object[] }>(kinds.Role, 'reader', 'default');
  if (!role) throw new Error('the role is there');
  await api.kube.replace({ ...role, rules: [{ ...rules[0], resourceNames: [] }] });
  t.equal(await refused(bot.get(kinds.Secret, 'another', 'default')), 'allowed', 'a changed role applies at once');
  await api.kube.delete({ apiVersion: rbac, kind: 'RoleBinding', namespace: 'default', name: 'reader' });
  t.equal(await secret(), 403, 'a removed right is gone at once');
  t.equal(await refused(bot.get(kinds.ClusterRole, 'reader')), 403);
});

t.test("the platform's own roles work", async (t) => {
  const api = await startApi(t);
  for (const name of ['svc-system', 'svc-builds']) {
    await api.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (const object of accessManifests('svc-controllers')) await api.kube.create(object);
  const { body } = await api.ask('POST', tokenPath('svc-controllers', 'svc-system'), {});
  const controllers = api.as(String(body.status.token));
  t.equal(await refused(controllers.list(kinds.Deployment)), 'allowed');
  t.equal(await refused(controllers.get(kinds.Lease, 'x', 'svc-system')), 'allowed');
  t.equal(await refused(controllers.get(kinds.Lease, 'x', 'default')), 403);
  t.equal(await refused(controllers.get(kinds.Pod, 'x', 'svc-system')), 'allowed');
  const pod = { apiVersion: 'v1', kind: 'Pod', namespace: 'svc-system', name: 'x' };
  t.equal(await refused(controllers.delete(pod)), 403, 'it reads pods only');
});

t.test('a token is invalid after its time, its account or its pod ends', async (t) => {
  const clock = fakeClock();
  const api = await startApi(t, { clock });
  const statusWith = (token: string) => api.ask('GET', '/api', undefined, { token }).then(({ status }) => status);
  const short = await account(api, 'short', { expirationSeconds: 600 });
  t.equal(await statusWith(short), 200);
  await clock.advance(601_000);
  t.equal(await statusWith(short), 401);
  const pod = await api.kube.create(namespaced('Pod', 'p', { spec: { containers: [{ name: 'a', image: 'a:1' }] } }));
  const bound = await account(api, 'bound', { boundObjectRef: { kind: 'Pod', name: 'p', uid: pod.metadata.uid } });
  t.equal(await statusWith(bound), 200);
  await api.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'p' });
  t.equal(await statusWith(bound), 401, 'the pod is gone');
  const lost = await account(api, 'lost');
  await api.kube.delete({ apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'default', name: 'lost' });
  await api.kube.create(namespaced('ServiceAccount', 'lost'));
  t.equal(await statusWith(lost), 401, 'one of the same name is another account');
  t.match(await api.ask('POST', tokenPath('bound'), { spec: { expirationSeconds: 60 } }), { status: 400 });
  t.match(await api.ask('POST', tokenPath('nobody'), {}), { status: 404 });
});

t.test('a token for another audience is invalid for the server', async (t) => {
  const api = await startApi(t);
  const token = await account(api, 'poller', { audiences: ['svc-workers'] });
  t.equal((await api.ask('GET', '/api', undefined, { token })).status, 401);
  const both = await api.ask('POST', tokenPath('poller'), { spec: { audiences: ['svc-workers', tokenIssuer] } });
  t.equal((await api.ask('GET', '/api', undefined, { token: String(both.body.status.token) })).status, 200);
});

t.test('an altered token is invalid', (t) => {
  const key = createSecretKey(Buffer.alloc(32, 1));
  const now = new Date('2026-01-01T00:00:00Z');
  const seconds = now.getTime() / 1000;
  const claims = {
    iss: tokenIssuer,
    sub: 'system:serviceaccount:default:bot',
    aud: [tokenIssuer],
    iat: seconds,
    nbf: seconds,
    exp: seconds + 60,
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'bot', uid: '1' } },
  };
  const token = signToken(claims, key);
  t.same(verifyToken(token, key, now), claims);
  const [head = '', , signature = ''] = token.split('.');
  const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url');
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
  const attacks = [`${head}.${forged}.${signature}`, `${none}.${forged}.`, `${token}.`, token.slice(0, -1), '..', ''];
  for (const attack of attacks) t.equal(verifyToken(attack, key, now), undefined);
  t.equal(verifyToken(token, createSecretKey(Buffer.alloc(32, 2)), now), undefined);
  t.equal(verifyToken(token, key, new Date(now.getTime() + 60_000)), undefined);
  t.equal(verifyToken(token, key, new Date(now.getTime() - 1_000)), undefined);
  t.end();
});

t.test('the certificate is valid for its names and addresses only', (t) => {
  const subjects = { names: ['localhost', 'kubernetes'], addresses: ['127.0.0.1'] };
  const pair = selfSignedCertificate('svc', subjects, new Date());
  const certificate = new X509Certificate(pair.certificate);
  t.ok(certificate.verify(certificate.publicKey));
  t.equal(certificate.checkHost('kubernetes'), 'kubernetes');
  t.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1');
  t.equal(certificate.checkHost('example.com'), undefined);
  t.ok(certificate.ca);
  t.end();
});

t.test('keys are readable by their owner only', async (t) => {
  const { dataDir, server } = await startApi(t);
  for (const file of ['pki/admin.token', 'pki/accounts.key', 'pki/apiserver.json']) {
    t.equal(statSync(join(dataDir, file)).mode & 0o077, 0, file);
  }
  t.equal(statSync(server.kubeconfig).mode & 0o077, 0);
  t.notOk(readFileSync(server.kubeconfig, 'utf8').includes('insecure'));
  t.ok(existsSync(join(dataDir, 'objects.db')));
  t.equal(statSync(join(dataDir, 'objects.db')).mode & 0o077, 0, 'it contains Secrets');
});
