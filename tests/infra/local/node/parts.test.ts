import { createServer } from 'node:net';
import { once } from 'node:events';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bindPod, createPortPool } from '../../../../infra/local/node/binding.ts';
import { createImageStore } from '../../../../infra/local/node/images.ts';
import { readLog, readLogTail, type LogOptions } from '../../../../infra/local/node/log-reader.ts';
import { createLogWatch } from '../../../../infra/local/node/log-watch.ts';
import { createLogWriter, deleteOldLogs } from '../../../../infra/local/node/logs.ts';
import { translatePaths } from '../../../../infra/local/node/paths.ts';
import type { NodePod } from '../../../../infra/local/node/pod-spec.ts';
import { listeners } from '../../../../infra/listening-sockets.ts';
import { fakeClock, settle } from '../../../support/clock.ts';
import { freePort } from '../../../support/servers.ts';

t.test('a path is translated only where it starts', async (t) => {
  const mounts = [
    { mountPath: '/data', folder: '/x/data' },
    { mountPath: '/data/inner/', folder: '/y' },
    { mountPath: '/app', folder: '/z' },
  ];
  const expected: Record<string, string> = {
    '/data': '/x/data',
    '/data/a b': '/x/data/a b',
    'cat >/data/f; ls "/data"': 'cat >/x/data/f; ls "/x/data"',
    '--dir=/data/inner/z:/data': '--dir=/y/z:/x/data',
    '/database /data-2 /data.txt /srv/data ../data http://host/data':
      '/database /data-2 /data.txt /srv/data ../data http://host/data',
    '/app/main.mjs': '/z/main.mjs',
  };
  for (const [text, translated] of Object.entries(expected)) t.equal(translatePaths(text, mounts), translated);
  t.equal(translatePaths('/data', []), '/data');
  t.equal(translatePaths('/a', [{ mountPath: '/', folder: '/x' }]), '/a', 'the root is not translated');
});

const pod: NodePod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    containers: [
      {
        name: 'web',
        image: 'web:1',
        ports: [
          { name: 'http', containerPort: 8080 },
          { name: 'the-admin', containerPort: 8081 },
        ],
        env: [
          { name: 'PORT', value: '8080' },
          { name: 'OTHER', value: 'x' },
        ],
      },
      { name: 'side', image: 'side:1' },
    ],
  },
};

t.test('a pod gets its own ports, and keeps them while they are free', async (t) => {
  const blocker = createServer().listen(await freePort());
  await once(blocker, 'listening');
  t.teardown(() => blocker.close());
  const first = (blocker.address() as { port: number }).port;
  const range = { first, last: first + 20 };
  const bound = await bindPod(pod, 'local', createPortPool(range));
  const [web, side] = bound.spec.containers;
  const [http = 0, admin = 0] = web?.ports?.map(({ containerPort }) => containerPort) ?? [];
  t.equal(new Set([first, http, admin]).size, 3, 'a port in use is skipped');
  t.same(web?.env, [
    { name: 'OTHER', value: 'x' },
    { name: 'PORT', value: String(http) },
    { name: 'HTTP_PORT', value: String(http) },
    { name: 'THE_ADMIN_PORT', value: String(admin) },
  ]);
  t.same(side, pod.spec.containers[1]);
  t.equal(bound.metadata.annotations?.['platform.svc/container-ports'], `{"8080":${http},"8081":${admin}}`);
  t.equal(await bindPod(bound, 'local', createPortPool(range)), bound, 'the same ports need no change');

  const other = createServer().listen(http);
  await once(other, 'listening');
  t.teardown(() => other.close());
  const moved = await bindPod(bound, 'local', createPortPool(range));
  const [again] = moved.spec.containers[0]?.ports ?? [];
  t.not(again?.containerPort, http);
  t.match(moved.metadata.annotations?.['platform.svc/container-ports'], `"8080":${again?.containerPort}`);
  await t.rejects(createPortPool({ first: http, last: http }).take(), /All ports for pods/);
});

t.test('an image is identified by its content; a tag moves and a digest stays', async (t) => {
  const folder = t.testdir({ context: { 'main.mjs': 'one' } });
  const store = createImageStore(join(folder, 'images'));
  const context = join(folder, 'context');
  const first = await store.add(context, 'registry.test:5000/shop/api:1', { entrypoint: ['node'] });
  t.match(first.digest, /^sha256:[0-9a-f]{64}$/);
  writeFileSync(join(context, 'main.mjs'), 'two');
  t.equal(readFileSync(join(first.folder, 'main.mjs'), 'utf8'), 'one', 'a copy');
  const second = await store.add(context, 'registry.test:5000/shop/api:1', { entrypoint: ['node'] });
  t.same(await store.find('registry.test:5000/shop/api:1'), second);
  t.same(await store.find(`registry.test:5000/shop/api:1@${first.digest}`), first);
  t.equal(await store.find('registry.test:5000/shop/api'), undefined, 'no tag means latest');
  const same = await store.add(context, 'other', { entrypoint: ['node'] });
  t.equal(same.digest, second.digest);
  t.same(await store.find('other:latest'), second);
  t.equal(readdirSync(join(folder, 'images/blobs')).length, 2);
  t.not((await store.add(context, 'other', { entrypoint: ['sh'] })).digest, second.digest);
});

t.test('a line that is too long is divided between characters', (t) => {
  const collected: string[] = [];
  const onLines = (_stream: string, _time: string, lines: readonly string[]) => void collected.push(...lines);
  const logs = createLogWriter({ folder: t.testdir({}), restartCount: 0, clock: fakeClock(new Date()), onLines });
  const text = `x${'\u{1f600}'.repeat(200_000)}`;
  logs.write('stdout', Buffer.from(text));
  logs.close();
  t.ok(collected.length > 1 && collected.every((line) => line.isWellFormed()));
  t.ok(collected.join('') === text);
  t.end();
});

t.test('a long line that arrives in many chunks is one line', (t) => {
  const collected: string[] = [];
  const onLines = (_stream: string, _time: string, lines: readonly string[]) => void collected.push(...lines);
  const logs = createLogWriter({ folder: t.testdir({}), restartCount: 0, clock: fakeClock(new Date()), onLines });
  const long = 'x'.repeat(100_000);
  const bytes = Buffer.from(`before\n${long}\nafter`);
  for (let at = 0; at < bytes.length; at += 4_096) logs.write('stdout', bytes.subarray(at, at + 4_096));
  logs.close();
  t.ok(collected[1] === long);
  t.same([collected.length, collected[0], collected[2]], [3, 'before', 'after']);
  t.end();
});

t.test("logs keep times and whole lines, rotate, and are read in Kubernetes' format", async (t) => {
  const folder = t.testdir({});
  const clock = fakeClock(new Date('2026-01-01T00:00:00Z'));
  const watch = createLogWatch();
  const read = async (options: LogOptions = {}) => {
    let text = '';
    const context = { clock, signal: new AbortController().signal, watch };
    for await (const line of readLog(folder, options, context)) text += line;
    return text;
  };
  const logs = createLogWriter({ folder, restartCount: 0, clock, maxBytes: 500, watch });
  const umlaut = Buffer.from('ü');
  logs.write('stdout', Buffer.from('a\nb'));
  logs.write('stderr', Buffer.from('err\n'));
  logs.write('stdout', umlaut.subarray(0, 1));
  logs.write('stdout', Buffer.concat([umlaut.subarray(1), Buffer.from('c\n')]));
  t.equal(await read(), 'a\nerr\nbüc\n');
  t.equal(await read({ tailLines: 1 }), 'büc\n');
  t.equal(await read({ timestamps: true, tailLines: 1 }), '2026-01-01T00:00:00.000Z büc\n');
  await clock.advance(5_000);
  logs.write('stdout', Buffer.from('later\n'));
  t.equal(await read({ since: new Date('2026-01-01T00:00:03Z') }), 'later\n');

  const followed = read({ follow: true, tailLines: 0 });
  while (clock.sleepers() === 0) await settle();
  logs.write('stdout', Buffer.from('x\nx\n'));
  await clock.advance(200);
  logs.write('stdout', Buffer.from('end'));
  logs.close();
  const ticking = new AbortController();
  const tick = async () => {
    while (!ticking.signal.aborted) await clock.advance(200);
  };
  const ticks = tick();
  t.equal(await followed, 'x\nx\nend\n');
  ticking.abort();
  await ticks;

  const next = createLogWriter({ folder, restartCount: 1, clock, maxBytes: 100, watch });
  for (let n = 0; n < 20; n++) next.write('stdout', Buffer.from(`line ${n}\n`));
  next.close();
  t.match(await read(), /line 19\n$/);
  t.notMatch(await read(), /line 0\n/, 'old files are deleted');
  t.match(await read({ previous: true }), /^a\n/);
  t.equal(await readLogTail(folder, 1, 8), ' line 19'.trimStart().padStart(8, '\n'));
  await deleteOldLogs(folder, 2);
  t.same(
    readdirSync(folder).filter((name) => name.startsWith('0')),
    [],
  );
});

t.test("listening sockets are parsed from the kernel's table", async (t) => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0
   1: 0100007F:1F91 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0
`;
  t.same(listeners(table), [{ port: 8080, inode: '4711' }]);
});
