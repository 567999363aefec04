import t from 'tap';
import { world } from './world.ts';

const path = '/api/v1/platform/alerts';
const alert = {
  id: 'f1',
  name: 'ReadOnlyFilesystem',
  severity: 'warning',
  scope: 'workload',
  state: 'firing',
  summary: 'App api in shop-prod crashed on a read-only file system.',
  labels: { namespace: 'shop-prod' },
  details: { line: 'EROFS: read-only', volumes: 'uploads' },
  startsAt: '2026-01-01T00:00:00.000Z',
};
const silence = {
  id: 'aa-1',
  alert: 'SvcQueueOld',
  labels: { queue: 'builds' },
  createdBy: 'a@b.c',
  comment: 'why',
  endsAt: '2026-01-01T01:00:00.000Z',
};

t.test('alerts list shows each alert with its line and volumes', async (t) => {
  const { run, routes } = await world(t, { [`GET ${path}`]: { body: { items: [alert], truncated: true } } });
  const { code, stdout, stderr } = await run(['platform', 'alerts', 'list']);
  t.equal(code, 0);
  t.match(stdout, /ReadOnlyFilesystem +warning +workload +firing .* line=EROFS: read-only volumes=uploads/);
  t.match(stderr, /more alerts are firing than are listed/);
  t.same(JSON.parse((await run(['platform', 'alerts', 'list', '-o', 'json'])).stdout), [alert]);
  routes[`GET ${path}`] = { body: { items: [], truncated: false } };
  t.match(await run(['platform', 'alerts', 'list']), { code: 0, stderr: /no alerts are firing/ });
  const body = { code: 'alerts_unavailable', message: 'This installation has no Alertmanager.' };
  routes[`GET ${path}`] = { status: 503, body };
  t.match(await run(['platform', 'alerts', 'list']), { code: 1, stderr: /has no Alertmanager.*alerts_unavailable/s });
});

t.test('alerts silence adds a silence, and unsilence ends it', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${path}`]: { body: { items: [{ ...alert, name: 'SvcQueueOld' }], truncated: false } },
    [`POST ${path}/silences`]: { status: 201, body: silence },
    [`GET ${path}/silences`]: { body: { items: [silence, { ...silence, id: 'aa-2', alert: 'Other' }] } },
    [`DELETE ${path}/silences/aa-1`]: { status: 204 },
    [`DELETE ${path}/silences/aa-2`]: { status: 204 },
  });
  const silenced = ['platform', 'alerts', 'silence', 'SvcQueueOld', '--label', 'queue=builds', '--for', '2h'];
  const stdout = /aa-1 +SvcQueueOld +queue=builds/;
  t.match(await run([...silenced, '--comment', 'why']), { code: 0, stdout, stderr: /^$/ });
  t.same(seen.at(-1)?.body, {
    alert: 'SvcQueueOld',
    labels: { queue: 'builds' },
    durationSeconds: 7200,
    comment: 'why',
  });
  t.match(await run(['platform', 'alerts', 'silence', 'SvcQueOld']), {
    code: 0,
    stderr: /no alert "SvcQueOld" is firing/,
  });
  t.match(await run(['platform', 'alerts', 'silences']), { code: 0, stdout: /aa-2 +Other/ });
  t.match(await run(['platform', 'alerts', 'unsilence', 'SvcQueueOld']), { code: 0, stderr: /aa-1 of SvcQueueOld/ });
  t.match(await run(['platform', 'alerts', 'unsilence', 'aa-2']), { code: 0, stderr: /aa-2 of Other/ });
  t.same(
    seen.filter(({ method }) => method === 'DELETE').map(({ path: target }) => target),
    [`${path}/silences/aa-1`, `${path}/silences/aa-2`],
  );
  t.match(await run(['platform', 'alerts', 'unsilence', 'Nothing']), { code: 1, stderr: /No silence of "Nothing"/ });
  t.match(await run([...silenced.slice(0, 4), '--for', '99d']), { code: 2 });
  t.match(await run([...silenced.slice(0, 4), '--label', 'queue']), { code: 2 });
});
