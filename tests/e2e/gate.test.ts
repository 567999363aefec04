import t from 'tap';
import { allKnow } from '../support/checkers.ts';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName, type Answer } from '../support/platform.ts';
import { scaled } from '../support/replicas.ts';

const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';

/** The URL of a new app `api` whose gate is closed. */
async function gatedApp(flags: string[]): Promise<string> {
  await platform.ok(['app', 'create', 'api', '--image', image, ...flags]);
  await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  await eventually(
    () => platform.request(url),
    ({ status }) => status === 401,
  );
  return url;
}

t.test('a function behind the gate: keys open it, answers have headers, and probing starts no pod', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('keyed');
  const code =
    'export const handler = (event, { headers }) => ({ headers: { "x-frame-options": "DENY" }, body: headers });';
  const csp = ['--csp', 'cdn.example.com'];
  await platform.ok(['function', 'create', name, '--code-file', codeFile(t, 'keyed.js', code), ...csp, ...flags]);
  await platform.ok(['function', 'gate', 'enable', name, ...flags]);
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  const pods = await platform.kubectl('-n', namespace, 'get', 'pods', '-l', `app=${name}`, '-o', 'name');
  t.equal(pods.stdout, '', 'the route was probed, and no pod was started for it');
  await platform.ok(['plan', 'create', 'small', '--rate', '5', '--burst', '5', ...flags]);
  const key = await platform.ok(['key', 'create', '--plan', 'small', '--app', name, ...flags]);

  const denied = await platform.request(url);
  t.equal(denied.status, 401);
  t.equal(denied.json()['code'], 'invalid_key');
  const served = await eventually(
    () => platform.request(url, { headers: { 'X-API-Key': key, 'X-Svc-Key-Prefix': 'forged' } }),
    ({ status }) => status === 200,
  );
  t.equal(served.json()['x-svc-key-prefix'], key.split('_')[1]);
  t.notMatch(served.body, key);
  for (const { headers } of [denied, served]) {
    t.match(headers, {
      'x-frame-options': 'SAMEORIGIN',
      'content-security-policy': /^default-src 'self' cdn\.example/,
    });
  }

  await platform.ok(['function', 'security', 'set', name, '--headers', 'off', '--csp', 'none', ...flags]);
  await platform.ok(['function', 'gate', 'disable', name, ...flags]);
  const open = await eventually(
    () => platform.request(url),
    ({ headers }) => headers['x-frame-options'] === 'DENY',
  );
  t.equal(open.status, 200);
});

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

  await t.test("with its key: the app sees the caller's handle, and not the key", async (t) => {
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
    const observed = answer.json()['headers'] as Record<string, string>;
    t.equal(observed['x-svc-key-prefix'], handle);
    t.ok(observed['x-svc-key-name']);
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
    const answers: Answer[] = [];
    const has = (expected: number) => answers.some(({ status }) => status === expected);
    while (!has(200) || !has(429)) {
      answers.push(
        ...(await Promise.all(
          Array.from({ length: 60 }, () => platform.request(url, { headers: { 'X-API-Key': key } })),
        )),
      );
    }
    const limited = answers.find((answer) => answer.status === 429);
    t.equal(limited?.json()['code'], 'rate_limited');
    t.equal(limited?.headers['retry-after'], '1');
    t.match(limited?.headers, {
      ratelimit: /^"rate";r=0;t=1$/,
      'ratelimit-policy': '"rate";q=5;w=1',
      'access-control-expose-headers': /RateLimit-Policy/,
    });
    const served = answers.find((answer) => answer.status === 200);
    const observed = served?.json()['headers'] as Record<string, string>;
    t.match(observed['ratelimit'], /^"rate";r=\d;t=\d+$/, 'the app gets the remaining requests');
    t.equal(observed['ratelimit-policy'], '"rate";q=5;w=1');
    t.equal(served?.headers['ratelimit'], undefined, "the client of an allowed request gets only the app's headers");
  });

  await t.test("an unknown key, a garbled key and another app's key get the same answer", async (t) => {
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

  await t.test('disabling the gate opens the route, without a moment of 500', async (t) => {
    await platform.ok(['app', 'gate', 'disable', 'api', ...flags]);
    const observed = new Set<number>();
    await eventually(
      () => platform.request(url),
      (answer) => {
        observed.add(answer.status);
        return answer.status === 200;
      },
    );
    t.same(
      [...observed].filter((status) => status !== 200 && status !== 401),
      [],
    );
  });
});

t.test('a quota limits a key until its period ends', async (t) => {
  const { flags } = await testProject(t, platform);
  const url = await gatedApp(flags);
  const limit = 4;
  await platform.ok(['plan', 'create', 'few', '--rate', '100', '--burst', '100', '--quota', `${limit}/day`, ...flags]);
  const key = await platform.ok(['key', 'create', '--plan', 'few', ...flags]);
  const handle = key.split('_')[1] ?? '';
  const ask = () => platform.request(url, { headers: { 'X-API-Key': key } });

  let allowed = 0;
  const exhausted = await eventually(ask, ({ status }) => {
    if (status === 200) allowed++;
    return status === 429;
  });
  t.equal(exhausted.json()['code'], 'quota_exhausted');
  t.match(exhausted.headers['ratelimit-policy'], new RegExp(`, "quota";q=${limit};w=86400$`));
  const reset = Number(exhausted.headers['retry-after']);
  t.ok(reset >= 1 && reset <= 86_400, String(reset));
  // Each checker may exceed the limit by the requests that the other allowed since its last flush.
  t.ok(allowed >= limit && allowed <= 2 * limit, `${allowed} allowed`);

  await t.test('usage is reported, with denials', async (t) => {
    const usage = await eventually(
      () => platform.json<{ totals: Record<string, number> }>(['key', 'usage', handle, ...flags]),
      ({ totals }) => (totals['quotaDenied'] ?? 0) > 0 && (totals['allowed'] ?? 0) >= allowed,
    );
    t.match(usage.totals, { allowed, rateDenied: 0 });
  });

  await t.test('a larger quota opens again', async (t) => {
    await platform.ok(['plan', 'update', 'few', '--quota', '1000/day', ...flags]);
    const opened = await eventually(ask, ({ status }) => status === 200);
    t.equal(opened.status, 200);
  });
});

t.test('a rotated key is replaced by its successor', async (t) => {
  const { flags } = await testProject(t, platform);
  const url = await gatedApp(flags);
  await platform.ok(['plan', 'create', 'wide', '--rate', '100', '--burst', '100', ...flags]);
  const old = await platform.ok(['key', 'create', '--plan', 'wide', ...flags]);
  const statusOf = async (key: string) => (await platform.request(url, { headers: { 'X-API-Key': key } })).status;

  const { id } = await platform.json<{ id: string }>(['app', 'show', 'api', ...flags]);
  await allKnow(platform, id, old);
  const successor = await platform.ok(['key', 'rotate', old.split('_')[1] ?? '', '--grace', '1h', ...flags]);
  await eventually(
    () => statusOf(successor),
    (status) => status === 200,
  );
  t.equal(await statusOf(old), 200, 'until the grace period ends');

  const last = await platform.ok(['key', 'rotate', successor.split('_')[1] ?? '', '--grace', '0', ...flags]);
  await eventually(
    () => statusOf(last),
    (status) => status === 200,
  );
  const ended = await eventually(
    () => statusOf(successor),
    (status) => status !== 200,
  );
  t.equal(ended, 401);
});

t.test('revoking reports when the checkers have applied it, and no later request passes', async (t) => {
  await scaled(t, platform, 'svc-authz', 2);
  const { flags } = await testProject(t, platform);
  const url = await gatedApp(flags);
  await platform.ok(['plan', 'create', 'wide', '--rate', '1000', '--burst', '1000', ...flags]);
  const revoke = async () => {
    const key = await platform.ok(['key', 'create', '--plan', 'wide', ...flags]);
    const ask = () => platform.request(url, { headers: { 'X-API-Key': key } });
    await eventually(ask, ({ status }) => status === 200);
    const revoked = await platform.svc(['key', 'revoke', key.split('_')[1] ?? '', '--yes', ...flags]);
    t.equal(revoked.code, 0);
    return { ask, message: revoked.stderr };
  };
  // A checker that was killed counts for 100 s more, and a busy one may take longer than the command waits.
  const { ask } = await eventually(revoke, ({ message }) =>
    /revoked on 2 of 2 replicas after \d+(\.\d+)? s/.test(message),
  );
  const after = await Promise.all(Array.from({ length: 40 }, ask));
  t.same([...new Set(after.map(({ status }) => status))], [401]);
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

t.test('a gate is reported as gated once the ingress demands a key, and off once it demands none', async (t) => {
  const { project, namespace, flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', image, ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  await eventually(
    () => platform.request(url),
    ({ status }) => status === 200,
  );
  const statuses = async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => platform.request(url)));
    return [...new Set(answers.map(({ status }) => status))];
  };
  const gate = () =>
    platform.json<{ gate: string; since?: string; message?: string }>(['app', 'gate', 'status', 'api', ...flags]);

  t.equal(await platform.ok(['app', 'gate', 'enable', 'api', '--no-wait', ...flags]), 'applying');
  const gated = await eventually(gate, ({ gate: phase }) => phase !== 'applying');
  t.same(await statuses(), [401], 'every request, from that report on');
  t.match(gated, { gate: 'gated', since: /^\d{4}-.*Z$/, message: /refuses requests without an API key/ });

  t.equal(await platform.ok(['app', 'gate', 'disable', 'api', '--no-wait', ...flags]), 'lifting');
  t.equal((await eventually(gate, ({ gate: phase }) => phase !== 'lifting')).gate, 'off');
  t.same(await statuses(), [200]);

  // The Events follow the status, and a line reaches the log a moment after it was written.
  await eventually(
    () => platform.kubectl('-n', namespace, 'get', 'events', '-o', 'jsonpath={.items[*].reason}'),
    ({ stdout }) => ['GateApplied', 'GateLifted'].every((reason) => stdout.includes(reason)),
  );
  const audited = async () => {
    const pods = ['-l', 'app=console-api', '--tail=-1', '--since=30m'];
    const logs = await platform.kubectl('-n', 'svc-system', 'logs', ...pods);
    return logs.stdout
      .split('\n')
      .filter((line) => line.includes('apikey audit') && line.includes(project))
      .map((line) => JSON.parse(line) as { time: string; action: string; actor: string })
      .sort((a, b) => a.time.localeCompare(b.time));
  };
  // Each replica of the console writes a log of its own.
  const entries = await eventually(audited, ({ length }) => length >= 2);
  t.match(entries, [
    { action: 'gate.enable', actor: platform.info.adminEmail },
    { action: 'gate.disable', actor: platform.info.adminEmail },
  ]);
});
