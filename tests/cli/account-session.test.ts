import t from 'tap';
import { createdAt, world } from './world.ts';

const path = '/api/v1/account/sessions';
const id = '019a0000-0000-7000-8000-000000000001';
const expiresAt = '2026-12-21T12:00:00Z';
const sessions = [
  { id, client: 'svc', createdAt, lastUsedAt: createdAt, expiresAt, current: true },
  { id: '019a0000-0000-7000-8000-000000000002', createdAt, expiresAt, current: false },
];

t.test('session list marks the own one', async (t) => {
  const { run } = await world(t, { [`GET ${path}`]: { body: { items: sessions } } });
  const { stdout } = await run(['session', 'list']);
  t.match(stdout, /^019a0000-0000-7000-8000-000000000001 \* +svc +1 hour ago +1 hour ago +2026-12-21T12:00:00Z$/m);
  t.match(stdout, /^019a0000-0000-7000-8000-000000000002 +- +- +1 hour ago/m);
  t.equal((await run(['session', 'list', '-o', 'name'])).stdout, `${sessions.map((each) => each.id).join('\n')}\n`);
});

t.test('session end ends one, or all others', async (t) => {
  const { run, seen, routes } = await world(t, {
    [`DELETE ${path}/${id}`]: { status: 204 },
    [`DELETE ${path}`]: { body: { ended: 2 } },
  });
  t.match(await run(['session', 'end', id, '--yes']), { code: 0, stderr: `session ${id} has ended\n` });
  t.match(await run(['session', 'end', '--others', '--yes']), { code: 0, stderr: '2 sessions have ended\n' });
  routes[`DELETE ${path}`] = { body: { ended: 1 } };
  t.match(await run(['session', 'end', '--others', '--yes']), { stderr: '1 session has ended\n' });
  const count = seen.length;
  t.match(await run(['session', 'end', '--yes']), { code: 2, stderr: /Name a session, or use --others/ });
  t.match(await run(['session', 'end', id, '--others', '--yes']), { code: 2 });
  t.match(await run(['session', 'end', id]), { code: 2 }, 'it asks without --yes');
  t.equal(seen.length, count);
});
