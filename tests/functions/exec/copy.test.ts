import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { podSessions } from '../../support/pod-sessions.ts';

/** `svc app cp` with the app `api`, whose pod's files are in the folder `pod`, and ours in `here`. */
async function withApp(t: Test, options?: Parameters<typeof podSessions>[1]) {
  const folder = t.testdir({ pod: {}, here: {} });
  const world = await podSessions(t, options);
  const id = await world.workload('App', 'api');
  await world.pod({ kind: 'App', name: 'api', id }, { name: 'api-1', container: 'app' });
  return { ...world, pod: join(folder, 'pod'), here: join(folder, 'here') };
}

const sha = (content: Buffer) => createHash('sha256').update(content).digest('hex');

t.test('a file is copied to a pod and back, whatever its content and its name', async (t) => {
  const { svc, pod, here, entries } = await withApp(t);
  const content = randomBytes(5 * 1024 * 1024 + 1);
  const name = 'a "$(id)" \'b\'.bin';
  writeFileSync(join(here, name), content);
  const sent = await svc(['app', 'cp', join(here, name), `api:${pod}/`]);
  t.match(sent, { code: 0, stderr: `copied ${content.length} bytes\n` });
  t.equal(sha(readFileSync(join(pod, name))), sha(content));
  const fetched = await svc(['app', 'cp', `api:${pod}/${name}`, join(here, 'back.bin')]);
  t.match(fetched, { code: 0, stderr: `copied ${content.length} bytes\n` });
  t.equal(sha(readFileSync(join(here, 'back.bin'))), sha(content));
  writeFileSync(join(here, 'empty'), '');
  t.equal((await svc(['app', 'cp', join(here, 'empty'), `api:${pod}/-n`])).code, 0);
  t.equal((await svc(['app', 'cp', `api:${pod}/-n`, here])).code, 0, 'into a folder, under its name');
  t.equal(statSync(join(here, '-n')).size, 0);
  t.match(entries().filter(({ msg }) => msg === 'audit').length, 4, 'each copy is audited as a command in the pod');
  t.same(readdirSync(pod).toSorted(), ['-n', name].toSorted(), 'no temporary file is left');
});

t.test('a file in a pod is replaced only by a whole one, and keeps its mode', async (t) => {
  const { svc, pod, here } = await withApp(t);
  const file = join(pod, 'settings.json');
  writeFileSync(file, 'old');
  chmodSync(file, 0o640);
  writeFileSync(join(here, 'settings.json'), 'new');
  t.equal((await svc(['app', 'cp', join(here, 'settings.json'), `api:${file}`])).code, 0);
  t.equal(readFileSync(file, 'utf8'), 'new');
  t.equal(statSync(file).mode & 0o777, 0o640);
  t.match(await svc(['app', 'cp', join(here, 'settings.json'), `api:${pod}/none/x`]), { code: 1, stderr: /none/ });
  t.match(await svc(['app', 'cp', `api:${pod}/none`, here]), { code: 1, stderr: /none.*\(copy_failed\)/s });
  t.match(await svc(['app', 'cp', `api:${pod}`, here]), { code: 1, stderr: /is a folder/ });
  t.same(readdirSync(here), ['settings.json']);
  t.same(readdirSync(pod), ['settings.json']);
});

t.test('an upload that breaks off leaves the file that was there', async (t) => {
  const folder = t.testdir({ pod: { data: 'old' }, here: {} });
  const received = Promise.withResolvers<void>();
  const world = await podSessions(t, {
    // The pod gets the beginning of the content, and then the connection ends.
    exec: async (_pod, { command }, streams) => {
      const { spawn } = await import('node:child_process');
      const [program = '', ...args] = command;
      const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'inherit'] });
      for await (const chunk of streams.stdin as AsyncIterable<Buffer>) {
        child.stdin.end(chunk);
        break;
      }
      const code = await new Promise<number>((resolve) => child.once('exit', (status) => resolve(status ?? 1)));
      received.resolve();
      return code;
    },
  });
  const id = await world.workload('App', 'api');
  await world.pod({ kind: 'App', name: 'api', id }, { name: 'api-1', container: 'app' });
  const file = join(folder, 'here', 'data');
  writeFileSync(file, randomBytes(3 * 1024 * 1024));
  const ran = await world.svc(['app', 'cp', file, `api:${join(folder, 'pod', 'data')}`]);
  await received.promise;
  t.equal(ran.code, 1, ran.stderr);
  t.equal(readFileSync(join(folder, 'pod', 'data'), 'utf8'), 'old');
  t.same(readdirSync(join(folder, 'pod')), ['data']);
});

t.test('a download that breaks off leaves the local file', async (t) => {
  const { svc, pod, here } = await withApp(t, { exec: () => Promise.reject(new Error('the node is gone')) });
  writeFileSync(join(here, 'report'), 'old');
  t.equal((await svc(['app', 'cp', `api:${pod}/report`, join(here, 'report')])).code, 1);
  t.equal(readFileSync(join(here, 'report'), 'utf8'), 'old');
  t.same(readdirSync(here), ['report']);
});

t.test('a file that cannot be written says where and why, without a trace', async (t) => {
  const { svc, pod, here } = await withApp(t);
  writeFileSync(join(pod, 'report'), randomBytes(1024 * 1024));
  writeFileSync(join(here, 'report'), 'new');
  const target = join(here, 'none', 'report');
  t.match(await svc(['app', 'cp', `api:${pod}/report`, target]), {
    code: 1,
    stderr: `error: Cannot write ${target}: no such file or directory. (copy_failed)\n`,
  });
  t.match(await svc(['app', 'cp', join(here, 'report'), `api:${pod}/none/report`]), {
    code: 1,
    stderr: `error: The folder ${pod}/none does not exist in the pod. (copy_failed)\n`,
  });
  t.match(await svc(['app', 'cp', `api:${pod}`, here]), { code: 1, stderr: `tar c -C ${pod} . | tar x (copy_failed)` });
});

t.test('exactly one side is in a pod', async (t) => {
  const { svc, here } = await withApp(t);
  for (const [from, to] of [
    ['a', 'b'],
    ['api:/a', 'api:/b'],
  ] as const) {
    t.match(await svc(['app', 'cp', from, to]), { code: 2, stderr: /Exactly one of the two paths/ });
  }
  t.match(await svc(['app', 'cp', 'api:', 'x']), { code: 2, stderr: /names no file/ });
  t.match(await svc(['app', 'cp', here, 'api:/tmp']), { code: 2, stderr: /is a folder/ });
  t.match(await svc(['app', 'cp', join(here, 'none'), 'api:/tmp']), { code: 2, stderr: /Cannot read/ });
  t.notOk(existsSync('b'));
});
