import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { node } from '../../../../infra/testcluster/settings.ts';
import { packageRegistry, useNpmRegistry } from '../../../support/package-registry.ts';
import { eventually, runningPlatform, testProject } from '../../../support/platform.ts';

const platform = await runningPlatform();
/** Where pods reach this machine. */
const host = platform.info.target === 'cluster' ? node.address : '127.0.0.1';

interface Deployed {
  revision: number;
  status: string;
  url: string;
}

t.test('a folder is deployed, changed, deployed again and rolled back', async (t) => {
  const registry = await packageRegistry(t, host);
  registry.addNpm('greeting', '1.0.0', {
    'package.json': '{"name":"greeting","version":"1.0.0"}',
    'index.js': "module.exports = 'hello';",
  });
  await useNpmRegistry(t, platform, registry);
  const { flags, project } = await testProject(t, platform);
  const folder = mkdtempSync(join(tmpdir(), 'svc-shop-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content);
  const serve = (word: string) =>
    write(
      'server.js',
      `const greeting = require('greeting');
require('node:http').createServer((_, response) => response.end(greeting + ', ${word}')).listen(process.env.PORT);`,
    );
  write(
    'package.json',
    JSON.stringify({ name: 'shop', scripts: { start: 'node server.js' }, dependencies: { greeting: '1.0.0' } }),
  );
  write('.svcignore', 'notes.txt\n');
  write('notes.txt', 'private');
  mkdirSync(join(folder, 'assets'));
  write('assets/large.bin', 'xyz'.repeat(1024 * 1024));
  serve('one');
  const serves = (url: string, word: string) =>
    eventually(
      () => platform.request(url),
      ({ status, body }) => status === 200 && body === `hello, ${word}`,
    );

  const first = await platform.svc(['deploy', folder, '--name', 'shop', '-o', 'json', ...flags]);
  t.equal(first.code, 0, first.stderr);
  const { url, ...deployed } = JSON.parse(first.stdout) as Deployed;
  t.match(deployed, { revision: 1, status: 'succeeded' });
  t.match(first.stderr, /uploaded 3\.0 MiB of 3\.0 MiB in 3 files/);
  await serves(url, 'one');
  t.match(readFileSync(join(folder, 'svc.yaml'), 'utf8'), `project: ${project}\n`);

  serve('two');
  const second = await platform.svc(['deploy', folder, '-o', 'json']);
  t.equal(second.code, 0, second.stderr);
  t.match(JSON.parse(second.stdout), { revision: 2, status: 'succeeded' }, 'svc.yaml says where');
  t.match(second.stderr, /uploaded [\d.]+ (?:Ki)?B of 3\.0 MiB/);
  await serves(url, 'two');

  await platform.ok(['app', 'rollback', 'shop', ...flags]);
  await serves(url, 'one');
  const history = await platform.json<{ revision: number; trigger: string }[]>(['app', 'history', 'shop', ...flags]);
  t.match(
    history.map(({ revision, trigger }) => [revision, trigger]),
    [
      [3, 'rollback'],
      [2, 'manual'],
      [1, 'manual'],
    ],
  );
});
