import t from 'tap';
import type { AssistantSettingsView } from '../../runtime/contracts/api/assistant.ts';
import { world } from './world.ts';

const path = '/api/v1/platform/assistant';
const view: AssistantSettingsView = {
  url: 'https://ai.test/v1',
  model: 'm',
  key: true,
  level: 'state',
  networks: ['10.20.7.0/24'],
  messagesPerHour: 30,
  tokensPerDay: 2_000,
  tokensToday: 70,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const set = ['platform', 'assistant', 'set'];

t.test('set reads the key from the standard input, and prints no key', async (t) => {
  const { run, seen } = await world(t, { [`PUT ${path}`]: { body: view } });
  const first = await run([...set, '--url', view.url, '--model', 'm', '--key-stdin'], { stdin: 'very-secret\n' });
  t.match(first, { code: 0, stdout: /Key: +set\nLevel: +state \(sends names, state\)\n/ });
  t.same(seen.at(-1)?.body, { url: view.url, model: 'm', key: 'very-secret' });
  t.notMatch(first.stdout + first.stderr, /very-secret/);
  const count = seen.length;
  t.match(await run([...set, '--key-stdin', '--without-key'], { stdin: 'x' }), { code: 2, stderr: /Use either/ });
  t.match(await run([...set, '--key-stdin'], { stdin: '\n' }), { code: 2, stderr: /key is empty/ });
  t.equal(seen.length, count, 'nothing was sent');
  t.match(await run([...set, '--level', 'logs']), { code: 2, stderr: /--url and --model are required/ });
});

t.test('set keeps what is not named', async (t) => {
  const { run, seen, routes } = await world(t, { [`PUT ${path}`]: { body: view }, [`GET ${path}`]: { body: view } });
  const { url, model, level, networks, messagesPerHour, tokensPerDay } = view;
  const kept = { url, model, level, networks, messagesPerHour, tokensPerDay };
  const cases: [string[], object][] = [
    [['--level', 'logs'], { ...kept, level: 'logs' }],
    [['--no-networks', '--tokens-per-day', '5'], { ...kept, networks: [], tokensPerDay: 5 }],
    [
      ['--network', '10.0.0.0/8', '--messages-per-hour', '9'],
      { ...kept, networks: ['10.0.0.0/8'], messagesPerHour: 9 },
    ],
    [['--without-key'], { ...kept, key: null }],
  ];
  for (const [flags, body] of cases) {
    t.equal((await run([...set, ...flags])).code, 0);
    t.same(seen.at(-1)?.body, body);
  }
  routes[`PUT ${path}`] = { body: { ...view, url: 'http://ai.test/v1', key: false } };
  const moved = await run([...set, '--url', 'http://ai.test/v1']);
  t.match(moved.stderr, /the key is removed/);
  t.match(moved.stderr, /not encrypted/);
  t.match(await run([...set, '--network', '10.0.0.0/8', '--no-networks']), { code: 2 });
});

t.test('show, test and disable', async (t) => {
  const { run, routes, seen } = await world(t, {
    [`GET ${path}`]: { body: view },
    [`POST ${path}/test`]: { body: { status: 'ok', model: 'm', milliseconds: 12 } },
    [`DELETE ${path}`]: { status: 204 },
  });
  t.match(await run(['platform', 'assistant', 'show']), {
    stdout: /Messages: +30 per user and hour\nTokens: +70 of 2000 today\n/,
  });
  t.match(await run(['platform', 'assistant', 'test']), { code: 0, stdout: /Time: +12 ms/ });
  routes[`POST ${path}/test`] = {
    body: { status: 'failed', model: 'm', milliseconds: 1, code: 'provider_refused', error: 'it responded with 401' },
  };
  t.match(await run(['platform', 'assistant', 'test']), {
    code: 1,
    stderr: /responded with 401\. \(provider_refused\)/,
  });
  t.match(await run(['platform', 'assistant', 'disable', '--yes']), { code: 0, stderr: /disabled/ });
  t.equal(seen.at(-1)?.method, 'DELETE');
});
