import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import type { PodExec } from '../../../../infra/local/apiserver/pod-exec.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { startApi } from '../../../support/local-api.ts';

const protocol = 'v5.channel.k8s.io';
const namespaced = (kind: string, name: string, more: object, apiVersion = 'v1') =>
  ({ apiVersion, kind, metadata: { name, namespace: 'default' }, ...more }) as KubeObject;
const path = '/api/v1/namespaces/default/pods/web/exec';
const query = '?command=echo&command=hello&stdout=true&stdin=true';

/** A server with a pod, and a function that runs commands in it. Resolves to the open socket, or to the refusal. */
async function start(t: Test, exec: PodExec) {
  const api = await startApi(t, { exec });
  const containers = [{ name: 'main', image: 'x:1' }];
  await api.kube.create(namespaced('Pod', 'web', { spec: { containers } }));
  const open = async (execPath: string, token = api.adminToken, offered = protocol): Promise<unknown> => {
    const socket = new WebSocket(api.server.url + path + execPath, [offered], {
      headers: { authorization: `Bearer ${token}` },
      rejectUnauthorized: false,
    });
    t.teardown(() => socket.terminate());
    return Promise.race([
      once(socket, 'open').then(() => socket),
      once(socket, 'unexpected-response').then(async ([, response]) => json(response as IncomingMessage)),
    ]);
  };
  return { ...api, open };
}

t.test('an invalid request is refused before the upgrade', async (t) => {
  const { open, ask } = await start(t, async () => 0);
  t.match(await open('?stdout=true'), { code: 400, message: /at least one command/ });
  t.match(await open(query, undefined, 'channel.k8s.io'), { code: 501, message: /WebSocket of v5/ });
  t.match(await ask('POST', path + query), { status: 501, body: { message: /WebSocket of v5/ } });
});

t.test('running a command needs the verb create, even by GET', async (t) => {
  const { open, kube, ask } = await start(t, async () => 0);
  await kube.create(namespaced('ServiceAccount', 'bot', {}));
  const { body } = await ask('POST', '/api/v1/namespaces/default/serviceaccounts/bot/token', { spec: {} });
  const token = String(body.status.token);
  t.match(await open(query, token), { code: 403, message: /cannot get resource "pods\/exec"/ });
  const rbac = 'rbac.authorization.k8s.io';
  const rule = { apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] };
  const role = await kube.create(namespaced('Role', 'runner', { rules: [rule] }, `${rbac}/v1`));
  const roleRef = { apiGroup: rbac, kind: 'Role', name: 'runner' };
  const subjects = [{ kind: 'ServiceAccount', name: 'bot', namespace: 'default' }];
  await kube.create(namespaced('RoleBinding', 'runner', { roleRef, subjects }, `${rbac}/v1`));
  t.match(await open(query, token), { code: 403, message: /cannot create resource "pods\/exec"/ });
  await kube.replace({ ...role, rules: [{ ...rule, verbs: ['get', 'create'] }] } as typeof role);
  t.ok((await open(query, token)) instanceof WebSocket);
});

t.test('the command ends when its client disconnects', async (t) => {
  let ended: (() => void) | undefined;
  const commandEnd = new Promise<void>((resolve) => (ended = resolve));
  const { open } = await start(t, async (pod, options, { stdout, stderr }, signal) => {
    t.match(pod, { kind: 'Pod', metadata: { name: 'web' } });
    t.same(options, { container: 'main', command: ['echo', 'hello'] });
    t.equal(stderr, undefined);
    stdout?.write('begun');
    await once(signal, 'abort');
    ended?.();
    return 137;
  });
  const socket = await open(query);
  if (!(socket instanceof WebSocket)) throw new Error('refused');
  const [message] = (await once(socket, 'message')) as [Buffer];
  t.equal(message.toString(), '\u0001begun');
  socket.terminate();
  await commandEnd;
});
