import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';

t.test('a gated app serves only requests with a valid key', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', image, ...flags]);
  await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  await platform.ok(['plan', 'create', 'small', '--rate', '5', '--burst', '5', ...flags]);
  const key = await platform.ok(['key', 'create', '--plan', 'small', '--name', 'Ä test', ...flags]);
  t.match(key, /^svc_[a-z0-9]{8}_[a-z0-9]{46}$/);
  const handle = key.split('_')[1] ?? '';

  const without = await eventually(
    () => platform.request(url),
    (answer) => answer.status !== 200,
  );
  t.equal(without.status, 401);
  t.equal(without.json()['code'], 'invalid_key');
  t.equal(without.headers['access-control-allow-origin'], '*');
  t.match(without.headers['content-type'], 'application/json');

  await t.test('with its key: the app sees who calls, and no key', async (t) => {
    const answer = await eventually(
      () =>
        platform.request(url, {
          headers: {
            'X-API-Key': key,
            'X-Svc-Key-Prefix': 'forged',
            'X-Svc-Key-Name': 'forged',
            X_Svc_Key_Prefix: 'forged',
            'X.Svc.Key.Name': 'forged',
            X_API_Key: key,
          },
        }),
      (reply) => reply.status === 200,
    );
    const seen = answer.json()['headers'] as Record<string, string>;
    t.equal(seen['x-svc-key-prefix'], handle);
    t.ok(seen['x-svc-key-name']);
    t.notMatch(answer.body, 'forged');
    t.notMatch(answer.body, key);
  });

  await t.test('a preflight passes; another OPTIONS request does not', async (t) => {
    const preflight = await platform.request(url, {
      method: 'OPTIONS',
      headers: { Origin: 'https://example.com', 'Access-Control-Request-Method': 'GET' },
    });
    t.equal(preflight.status, 200);
    t.equal((await platform.request(url, { method: 'OPTIONS' })).status, 401);
  });

  await t.test('a burst over the plan gives 429 with Retry-After', async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => platform.request(url, { headers: { 'X-API-Key': key } })),
    );
    const limited = answers.filter((answer) => answer.status === 429);
    t.ok(limited.length > 0);
    t.ok(answers.some((answer) => answer.status === 200));
    t.equal(limited[0]?.json()['code'], 'rate_limited');
    t.equal(limited[0]?.headers['retry-after'], '1');
  });

  await t.test('an unknown key, a garbled key and a key of another app read the same', async (t) => {
    await platform.ok(['app', 'create', 'other', '--image', image, ...flags]);
    const scoped = await platform.ok(['key', 'create', '--plan', 'small', '--app', 'other', ...flags]);
    const bodies = new Set<string>();
    for (const attempt of [scoped, 'nonsense', `${key.slice(0, -1)}~`, '']) {
      const answer = await platform.request(url, { headers: { 'X-API-Key': attempt } });
      t.equal(answer.status, 401);
      bodies.add(answer.body);
    }
    t.equal(bodies.size, 1);
  });

  await t.test('disabling the key denies, enabling it serves again', async (t) => {
    const ask = () => platform.request(url, { headers: { 'X-API-Key': key } });
    await platform.ok(['key', 'disable', handle, ...flags]);
    const denied = await eventually(ask, (answer) => answer.status === 401);
    t.equal(denied.json()['code'], 'invalid_key');
    await platform.ok(['key', 'enable', handle, ...flags]);
    const allowed = await eventually(ask, (answer) => answer.status === 200);
    t.equal(allowed.status, 200);
  });

  await t.test('switching the gate off opens the route, without a moment of 500', async (t) => {
    await platform.ok(['app', 'gate', 'disable', 'api', ...flags]);
    const seen = new Set<number>();
    await eventually(
      () => platform.request(url),
      (answer) => {
        seen.add(answer.status);
        return answer.status === 200;
      },
    );
    t.same(
      [...seen].filter((status) => status !== 200 && status !== 401),
      [],
    );
  });
});

t.test('a key of one environment opens nothing in another', async (t) => {
  const one = await testProject(t, platform);
  const two = await testProject(t, platform);
  for (const { flags } of [one, two]) {
    await platform.ok(['app', 'create', 'api', '--image', image, ...flags]);
    await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
    await platform.ok(['plan', 'create', 'small', '--rate', '100', '--burst', '100', ...flags]);
  }
  const key = await platform.ok(['key', 'create', '--plan', 'small', ...one.flags]);
  const own = await platform.json<{ url: string }>(['app', 'show', 'api', ...one.flags]);
  const foreign = await platform.json<{ url: string }>(['app', 'show', 'api', ...two.flags]);
  const headers = { 'X-API-Key': key };
  const allowed = await eventually(
    () => platform.request(own.url, { headers }),
    (answer) => answer.status === 200,
  );
  t.equal(allowed.json()['app'], 'hello');
  const denied = await eventually(
    () => platform.request(foreign.url, { headers }),
    (answer) => answer.status !== 200,
  );
  t.equal(denied.status, 401);
});
