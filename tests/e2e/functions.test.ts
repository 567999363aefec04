import { readFileSync } from 'node:fs';
import t from 'tap';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

const platform = await runningPlatform();
const code = `
export async function handler(event, context) {
  return { statusCode: 200, headers: { 'x-method': context.method, 'x-node': process.versions.node }, body: JSON.stringify({ event, path: context.path }) };
}`;

interface FunctionView {
  url: string;
  status: string;
  replicas: number;
  readyReplicas: number;
}

t.test('a function starts from zero on the first request, stays warm, and scales back to zero', async (t) => {
  const { project, namespace, flags } = await testProject(t, platform);
  const name = uniqueName('hello');
  const file = codeFile(t, 'hello.js', code);
  await platform.ok([
    'function',
    'create',
    name,
    '--runtime',
    'node',
    '--code-file',
    file,
    '--idle-timeout',
    '8s',
    ...flags,
  ]);
  const show = () => platform.json<FunctionView>(['function', 'show', name, ...flags]);
  const created = await show();
  t.match(created.url, `http://fn-${name}--local.${platform.info.appsDomain}`);
  t.equal(created.replicas, 0);
  const reserved = await platform.kubectl('-n', namespace, 'get', 'workloadname', name, '-o', 'json');
  t.match(JSON.parse(reserved.stdout), {
    spec: { kind: 'Function' },
    metadata: { ownerReferences: [{ kind: 'Function', name }] },
  });

  const ask = (body: string) =>
    platform.request(`${created.url}/greet`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

  await t.test('the first request is held and answered by the cold pod', async (t) => {
    const answer = await ask('{"n":1}');
    t.equal(answer.status, 200, 'its URL is available as soon as it is created');
    t.same(answer.json(), { event: { n: 1 }, path: '/greet' });
    t.equal(answer.headers['x-method'], 'POST');
    t.match(answer.headers['x-node'], /^22\./);
    t.equal(answer.headers['x-svc-cold-start'], 'true');
  });

  await t.test('later ones are warm', async (t) => {
    // The other interceptor learns of the pod a moment later.
    await eventually(
      async () => {
        const answer = await ask('{"n":2}');
        t.equal(answer.status, 200);
        return answer.headers['x-svc-cold-start'];
      },
      (cold) => cold === 'false',
    );
  });

  await t.test('the API sends a request to it, through the interceptors', async (t) => {
    const api = (path: string, body: object, token?: string) =>
      platform.request(`${platform.info.api}/api/v1${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(body),
      });
    const password = readFileSync(platform.info.adminPasswordFile, 'utf8').trim();
    const session = await api('/session', { email: platform.info.adminEmail, password });
    const request = {
      method: 'PUT',
      path: '/items?n=3',
      headers: [{ name: 'content-type', value: 'application/json' }],
    };
    const answer = await api(
      `/projects/${project}/functions/${name}/invoke?environment=prod`,
      { ...request, body: '{"n":3}' },
      session.json()['token'] as string,
    );
    t.match(answer.json(), { status: 200, bodyEnd: 'complete', coldStart: false });
    t.same(JSON.parse(answer.json()['body'] as string), { event: { n: 3 }, path: '/items' });
    const sent = answer.json()['headers'] as { name: string; value: string }[];
    t.equal(sent.find((header) => header.name === 'x-method')?.value, 'PUT');
  });

  await t.test('it scales to zero, and two hundred concurrent requests at zero are all answered', async (t) => {
    const none = await eventually(show, (view) => view.replicas === 0);
    t.equal(none.replicas, 0);
    await eventually(
      () => platform.kubectl('-n', namespace, 'get', 'pods', '-l', `app=${name}`, '-o', 'name'),
      (pods) => pods.stdout === '',
    );
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => ask(JSON.stringify({ n }))));
    t.same(
      answers.map((answer) => answer.status),
      Array.from({ length: 200 }, () => 200),
    );
    t.same(
      answers.map((answer) => (answer.json()['event'] as { n: number }).n),
      Array.from({ length: 200 }, (_, n) => n),
    );
  });

  await t.test('it is listed, and deleting it leaves nothing', async (t) => {
    t.match(await platform.ok(['function', 'list', ...flags]), name);
    await platform.ok(['function', 'delete', name, '--yes', ...flags]);
    const own = await platform.kubectl(
      '-n',
      namespace,
      'get',
      '-o',
      'name',
      'functions.platform.svc,workloadnames,deploy,svc',
    );
    t.match(own, { code: 0, stdout: '' });
    // The cluster's garbage collector decides when it deletes dependent objects.
    await eventually(
      () => platform.kubectl('-n', namespace, 'get', '-o', 'name', 'rs,pods,secret,configmap'),
      ({ code, stdout }) => code === 0 && stdout === 'configmap/kube-root-ca.crt\n',
    );
    const routes = await platform.kubectl('-n', 'svc-system', 'get', 'ingressroute', '-o', 'json');
    t.notMatch(routes.stdout, `fn-${name}--`);
    const hosts = await platform.kubectl('get', 'hostnames', '-o', 'name');
    t.notMatch(hosts.stdout, `fn-${name}--`);
    t.equal(
      (
        await eventually(
          () => ask('{}'),
          (answer) => answer.status === 404,
        )
      ).status,
      404,
    );
  });
});

t.test('a function in Python answers from zero, and its failure is only in its log', async (t) => {
  const { flags } = await testProject(t, platform);
  const name = uniqueName('greet');
  const python = `
def handler(event, context=None):
    return {'statusCode': 200, 'headers': {'x-method': context.method}, 'body': {'hello': event['name']}}`;
  await platform.ok(['function', 'create', name, '--code-file', codeFile(t, 'greet.py', python), ...flags]);
  const { url } = await platform.json<FunctionView>(['function', 'show', name, ...flags]);
  const ask = (body: string) =>
    platform.request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const answer = await ask('{"name":"Ada"}');
  t.equal(answer.status, 200);
  t.same(answer.json(), { hello: 'Ada' });
  t.equal(answer.headers['x-method'], 'POST');
  const failed = await ask('{"nom":"Ada"}');
  t.equal(failed.status, 500);
  t.match(failed.json(), { code: 'function_error', requestId: String });
});

t.test('an image can be a function too, for requests and on a schedule, and be replaced by code', async (t) => {
  const { flags } = await testProject(t, platform);
  const name = uniqueName('image');
  const image = 'localhost:5000/svc/hello:v1';
  await platform.ok(['function', 'create', name, '--image', image, '--port', '9000', ...flags]);
  const { url } = await platform.json<FunctionView>(['function', 'show', name, ...flags]);
  const ask = (right: (body: string) => boolean) =>
    eventually(
      () => platform.request(url),
      ({ status, body }) => status === 200 && right(body),
    );
  const served = await ask((body) => body.includes('"app"'));
  t.match(served.json(), { app: 'hello', version: 'v1' });
  t.equal(served.headers['x-svc-cold-start'], 'true');

  const file = codeFile(t, 'code.js', 'export const handler = () => "code now";');
  await platform.ok(['function', 'update', name, '--runtime', 'node', '--code-file', file, ...flags]);
  t.equal((await ask((body) => !body.includes('"app"'))).body, 'code now');
  const brokenCode = codeFile(t, 'broken.js', 'export const handler = nothing.here;');
  const refused = await platform.svc(['function', 'update', name, '--code-file', brokenCode, ...flags]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /failed to start \(exit code 1\):.*nothing is not defined.*; the previous pods keep serving/);
  t.equal((await platform.request(url)).body, 'code now');

  const schedule = ['--trigger', 'cron', '--schedule', '0 0 1 1 *'];
  await platform.ok(['function', 'update', name, '--image', image, ...schedule, ...flags]);
  const ran = await platform.svc(['function', 'test', name, ...flags]);
  t.match(ran, { code: 0, stdout: /Status: +succeeded/ }, ran.stderr);
  const log = () => platform.ok(['function', 'logs', name, ...flags]);
  t.match(await eventually(log, (printed) => printed !== ''), /^v1 ran by test/);
});

t.test('code that does not load makes the function failed with its error, never a 200', async (t) => {
  const { flags } = await testProject(t, platform);
  const name = uniqueName('broken');
  const file = codeFile(t, 'broken.js', 'export const handler = nothing.here;');
  await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  const { url } = await platform.json<FunctionView>(['function', 'show', name, ...flags]);
  const answer = await eventually(
    () => platform.request(url),
    (reply) => reply.status !== 404,
  );
  t.ok(answer.status >= 500, String(answer.status));
  t.ok(answer.json()['code']);
  const failed = await eventually(
    () => platform.json<FunctionView & { message?: string }>(['function', 'show', name, ...flags]),
    (view) => view.status === 'failed',
  );
  t.ok(failed.message);
});

t.test('two functions of one name have hosts of their own; a chosen host that is taken leaves nothing', async (t) => {
  const one = await testProject(t, platform);
  const two = await testProject(t, platform);
  const name = uniqueName('twin');
  const file = codeFile(t, 'twin.js', code);
  const create = (flags: string[]) =>
    platform.svc(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  t.equal((await create(one.flags)).code, 0);
  const urlOf = async (flags: string[]) =>
    (await platform.json<FunctionView>(['function', 'show', name, ...flags])).url;
  const { hostname: short } = new URL(await urlOf(one.flags));

  const second = await create(two.flags);
  t.equal(second.code, 0, second.stderr);
  t.match(second.stderr, `${short} is taken, so ${name} answers at `);
  const url = await urlOf(two.flags);
  t.match(url, `//fn-${name}--${two.namespace}--local.`);
  for (const each of [await urlOf(one.flags), url]) t.equal((await platform.request(each)).status, 200);
  await platform.ok(['function', 'delete', name, '--yes', ...two.flags]);

  const refused = await create([...two.flags, '--hostname', short]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /host_taken/);
  t.match(refused.stderr, one.namespace);
  const remaining = await eventually(
    () => platform.kubectl('-n', two.namespace, 'get', 'functions.platform.svc,workloadnames', '-o', 'name'),
    (listed) => listed.stdout === '',
  );
  t.equal(remaining.stdout, '');
});
