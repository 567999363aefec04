import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { goPackages } from '../../../infra/images/builder/go-packages.ts';
import { createGoCache } from '../../../infra/local/go-cache.ts';
import { fakeGo } from '../../support/fake-go.ts';
import { silentLog } from '../../support/log.ts';
import { eventually } from '../../support/platform.ts';

function world(t: Test) {
  const go = fakeGo(t);
  const folder = join(go.folder, 'go');
  const start = () => createGoCache({ folder, path: go.path, log: silentLog });
  return { ...go, start, entries: () => readdirSync(folder) };
}

t.test('packages are compiled once for all builds of a version of Go', async (t) => {
  const { start, entries, become, compilations } = world(t);
  const cache = start();
  const [first, second] = await Promise.all([cache.find(), cache.find()]);
  t.equal(first, second);
  t.equal(readFileSync(join(first ?? '', '00/net-d'), 'utf8'), 'compiled\n');
  t.same(compilations(), [`build -p 2 ${goPackages.join(' ')}`]);
  t.match(basename(first ?? ''), /^go1\.26\.8%20/);
  t.equal(await start().find(), first, 'also after a restart');
  t.equal(compilations().length, 1);
  become('go1.27.0');
  const next = await cache.find();
  t.match(basename(next ?? ''), /^go1\.27\.0%20/);
  t.same(entries(), [basename(next ?? '')], 'what an earlier version compiled is removed');
});

t.test('what could not be compiled is not tried again by this process, and leaves nothing', async (t) => {
  const { start, entries, also, compilations } = world(t);
  also('exit 1');
  const cache = start();
  t.equal(await cache.find(), undefined);
  t.equal(await cache.find(), undefined);
  t.equal(compilations().length, 1);
  t.same(entries(), []);
  also('');
  t.ok(await start().find());
});

t.test('without a toolchain there are none', async (t) => {
  const { start, folder, compilations } = world(t);
  rmSync(join(folder, 'version'));
  t.equal(await start().find(), undefined);
  t.same(compilations(), []);
});

t.test('a stop ends the compilation with all its processes', async (t) => {
  const { start, entries, also, folder, compilations } = world(t);
  also(`sleep 60 & echo $! >"$folder/pid"; wait`);
  const cache = start();
  const packages = cache.find();
  const pid = join(folder, 'pid');
  await eventually(
    async () => existsSync(pid) && readFileSync(pid, 'utf8').trim() !== '',
    (started) => started,
  );
  await cache.stop();
  t.equal(await packages, undefined);
  t.same(entries(), []);
  const stat = `/proc/${readFileSync(pid, 'utf8').trim()}/stat`;
  await eventually(
    async () => !existsSync(stat) || readFileSync(stat, 'utf8').includes(') Z '),
    (ended) => ended,
  );
  t.equal(await cache.find(), undefined, 'none begins afterwards');
  t.equal(compilations().length, 1);
});

t.test('clusters compile the same packages', (t) => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../../infra/images/build-go/Dockerfile'), 'utf8');
  t.match(dockerfile, ` go build -p 2 ${goPackages.join(' ')}\n`);
  t.end();
});
