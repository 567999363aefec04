import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runningPlatform, testProject } from '../support/platform.ts';

/**
 * What an attacker can do in the cluster with the token of one of the platform's processes
 * (docs/decisions/0039-rights-per-environment.md).
 */
const platform = await runningPlatform();
const { namespace } = await testProject(t, platform);
const folder = t.testdir();

type Outcome = 'allowed' | 'forbidden';

/** kubectl with the rights of a process. */
async function signedInAs(process: string): Promise<(...args: string[]) => Promise<Outcome>> {
  const path = `/api/v1/namespaces/svc-system/serviceaccounts/${process}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const request = await platform.kubectlInput(JSON.stringify(body), 'create', '--raw', path, '-f', '-');
  const { status } = JSON.parse(request.stdout) as { status: { token: string } };
  const view = await platform.kubectl('config', 'view', '--raw', '-o', 'json');
  const config = JSON.parse(view.stdout) as { users: { user: object }[] };
  for (const entry of config.users) entry.user = status;
  const file = join(folder, `${process}.json`);
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return async (...args) => {
    const { code, stderr } = await platform.kubectl('--kubeconfig', file, ...args);
    if (code === 0 || stderr.includes('NotFound')) return 'allowed';
    if (stderr.includes('Forbidden') || stderr.includes('forbidden')) return 'forbidden';
    throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  };
}

const secret = (place: string, name = 'none') => ['get', 'secret', name, '-n', place];
const scale = (place: string, name: string) => [
  'get',
  '--raw',
  `/apis/apps/v1/namespaces/${place}/deployments/${name}/scale`,
];
/** Starts nothing: there is no such pod. */
const exec = (place: string) => {
  const file = join(folder, 'empty.json');
  writeFileSync(file, '{}');
  return ['create', '--raw', `/api/v1/namespaces/${place}/pods/none/exec?command=true&container=app`, '-f', file];
};
const pods = (place: string) => ['get', 'pods', '-n', place];
/** Deletes nothing: there is no such pod. */
const remove = (place: string) => ['delete', '--raw', `/api/v1/namespaces/${place}/pods/none`];

const attempts: Record<string, readonly (readonly [args: readonly string[], expected: Outcome])[]> = {
  'svc-interceptor': [
    [scale(namespace, 'none'), 'allowed'],
    [scale('svc-system', 'svc-authz'), 'forbidden'],
    [['scale', 'deploy/svc-authz', '-n', 'svc-system', '--replicas=0'], 'forbidden'],
    [scale('default', 'none'), 'forbidden'],
    [secret(namespace), 'forbidden'],
    [remove(namespace), 'forbidden'],
  ],
  'console-api': [
    [secret(namespace), 'allowed'],
    [pods(namespace), 'allowed'],
    [pods('svc-system'), 'forbidden'],
    [exec(namespace), 'allowed'],
    [exec('svc-system'), 'forbidden'],
  ],
  'svc-workers': [
    [exec(namespace), 'forbidden'],
    [secret(namespace), 'allowed'],
    [pods(namespace), 'allowed'],
    [pods('svc-system'), 'forbidden'],
  ],
  'svc-controllers': [
    [secret(namespace), 'allowed'],
    [remove(namespace), 'allowed'],
    [remove('svc-system'), 'forbidden'],
    [remove('default'), 'forbidden'],
    [exec(namespace), 'forbidden'],
  ],
};

for (const [process, cases] of Object.entries(attempts)) {
  t.test(`${process} has rights only where its work is`, async (t) => {
    const attempt = await signedInAs(process);
    const secrets = [
      ['svc-system', 'svc-admin'],
      ['svc-system', 'svc-encryption-keys'],
      ['svc-system', 'svc-postgres'],
      ['default', 'none'],
    ].map(([place = '', name]) => [secret(place, name), 'forbidden'] as const);
    const lists = [namespace, 'svc-system'].map((place) => [['get', 'secrets', '-n', place], 'forbidden'] as const);
    for (const [args, expected] of [...cases, ...secrets, ...lists]) {
      t.equal(await attempt(...args), expected, args.join(' '));
    }
  });
}

t.test('the controllers grant no rights other than those of an environment', async (t) => {
  const attempt = await signedInAs('svc-controllers');
  const file = join(folder, 'binding.json');
  const bind = (role: string) => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
    const subjects = [{ kind: 'ServiceAccount', name: 'svc-controllers', namespace: 'svc-system' }];
    const object = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'attack' } };
    writeFileSync(file, JSON.stringify({ ...object, roleRef, subjects }));
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
    return attempt('create', '--raw', path, '-f', file);
  };
  for (const role of ['cluster-admin', 'platform.svc:console-api']) t.equal(await bind(role), 'forbidden', role);
  t.equal(await bind('platform.svc:svc-workers:environment'), 'allowed');
});
