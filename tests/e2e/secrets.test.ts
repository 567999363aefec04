import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';
import { installationSecrets, placesOf, secretsOf } from '../support/secret-hunt.ts';

const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';

/** Every secret that the installation and this test generated, by its purpose. */
async function generatedSecrets(flags: string[], url: string): Promise<Map<string, string>> {
  const secrets = new Map<string, string>();
  secrets.set('admin password', readFileSync(platform.info.adminPasswordFile, 'utf8').trim());
  secrets.set('API key', await platform.ok(['key', 'create', '--plan', 'p', ...flags]));
  const webhook = await platform.json<{ token: string; url: string }>(['app', 'webhook', 'enable', 'api', ...flags]);
  secrets.set('webhook token', webhook.token);
  const login = await platform.request(`${platform.info.api}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: platform.info.adminEmail, password: secrets.get('admin password') }),
  });
  secrets.set('session token', String(login.json()['token']));
  secrets.set('access token', await platform.ok(['token', 'create', 'hunted', '--scope', 'deploy', ...flags]));
  for (const [name, secret] of await installationSecrets(platform)) secrets.set(name, secret);

  // Uses each of them, correctly and incorrectly, so that any process that logs its input does so.
  for (const key of [secrets.get('API key') ?? '', `${secrets.get('API key')}x`]) {
    await platform.request(url, { headers: { 'X-API-Key': key } });
  }
  for (const [token, body] of [
    [webhook.token, JSON.stringify({ image, commit: 'c0ffee' })],
    [webhook.token, '{'],
    [webhook.token, JSON.stringify({ image: webhook.token })],
    [`${webhook.token}x`, JSON.stringify({ image })],
  ] as const) {
    await platform.request(webhook.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Svc-Token': token },
      body,
    });
  }
  for (const token of [secrets.get('session token'), secrets.get('access token')]) {
    for (const authorization of [`Bearer ${token}`, `Bearer ${token}x`]) {
      await platform.request(`${platform.info.api}/api/v1/projects`, { headers: { authorization } });
    }
  }
  return secrets;
}

/** Secrets that a function of the environment never sends: its own, and the passwords of its services and bindings. */
async function functionSecrets(t: Test, namespace: string, flags: string[]): Promise<Map<string, string>> {
  const typed = `typed-${randomBytes(18).toString('hex')}`;
  // Its handler, its source and its run all fail, so that each reports a reason.
  const code = `import { connect } from 'node:net';
export const handler = () => new Promise((resolve, reject) => {
  const socket = connect(Number(process.env.REDIS_PORT), process.env.REDIS_HOST, () => socket.write('AUTH nobody ' + process.env.TOKEN + '\\r\\n'));
  socket.once('data', (data) => { socket.end(); reject(new Error(String(data))); });
  socket.once('error', reject);
});`;
  const file = codeFile(t, 'leaky.mjs', code);
  for (const [service, type] of [
    ['cache', 'redis'],
    ['db', 'postgres'],
    // No function is bound to it; it has a token for the platform.
    ['files', 'minio'],
  ] as const) {
    await platform.ok(['service', 'create', service, '--type', type, '--size', '128Mi', ...flags]);
  }
  const names = [uniqueName('leaky'), uniqueName('nightly')] as const;
  const [httpFunction, run] = names;
  const source = ['--trigger', 'http', '--trigger', 'postgres', '--source', 'db', '--query', 'SELECT * FROM nowhere'];
  await platform.ok(['function', 'create', httpFunction, '--code-file', file, ...source, ...flags]);
  const schedule = ['--trigger', 'cron', '--schedule', '0 0 1 1 *'];
  await platform.ok(['function', 'create', run, '--code-file', file, ...schedule, ...flags]);
  for (const name of names) {
    await platform.ok(['function', 'bind', name, 'cache', ...flags]);
    await platform.ok(['function', 'secret', 'set', name, 'TOKEN', '--value-stdin', ...flags], typed);
  }
  const { url } = await platform.json<{ url: string }>(['function', 'show', httpFunction, ...flags]);
  const failed = await eventually(
    () => platform.request(url),
    ({ status }) => status !== 404,
  );
  t.equal(failed.status, 500);
  t.equal((await platform.svc(['function', 'test', run, ...flags])).code, 1);
  await eventually(
    () => platform.json<{ message?: string }>(['function', 'show', httpFunction, ...flags]),
    ({ message = '' }) => /nowhere/.test(message),
  );
  await platform.ok(['function', 'unbind', httpFunction, 'cache', ...flags]);
  const passwords = [...(await secretsOf(platform, namespace))].filter(([name]) =>
    /password$|\/secretKey$|\/token$/i.test(name),
  );
  return new Map([["a function's secret", typed], ...passwords]);
}

t.test(
  'no generated secret appears in a log, an argument, a store, an Event, a specification or an error body',
  async (t) => {
    const { namespace, flags } = await testProject(t, platform);
    await platform.ok(['app', 'create', 'api', '--image', image, ...flags]);
    await platform.ok(['plan', 'create', 'p', '--rate', '10', '--burst', '10', ...flags]);
    await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
    const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
    await eventually(
      () => platform.request(url),
      (answer) => answer.status === 401,
    );
    const secrets = await generatedSecrets(flags, url);
    t.ok(secrets.size >= 8, [...secrets.keys()].join(', '));
    const ofFunctions = await functionSecrets(t, namespace, flags);
    t.ok(ofFunctions.size >= 8, [...ofFunctions.keys()].join(', '));
    for (const [what, secret] of ofFunctions) secrets.set(what, secret);

    const places = await placesOf(platform, [namespace]);
    places.set('error bodies', platform.errorBodies.join('\n'));
    const objects = await platform.kubectl('-n', namespace, 'get', 'sfn,ssvc,configmaps', '-o', 'json');
    places.set('the objects of functions and services', objects.stdout);
    t.match(objects.stdout, /"nowhere"|nowhere/, 'with the reasons of their failures');

    t.ok((places.get('error bodies') ?? '').includes('invalid_key'), 'error bodies were collected');
    for (const [place, content] of places) {
      for (const [what, secret] of secrets) t.notOk(content.includes(secret), `${what} in ${place}`);
    }
  },
);
