import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { findMissingRight } from '../../../../infra/local/node/users.ts';
import { rootCommand } from '../../../../infra/local/root-command.ts';
import { ownFolder } from '../../../support/own-folder.ts';
import { eventually } from '../../../support/platform.ts';
import type { Answer, Question } from './user-names-process.ts';

const isRoot = process.getuid?.() === 0;
const skip = isRoot && findMissingRight() === undefined ? false : 'only root can give pods users of their own';

/** A node's process on a machine whose /etc is a folder of the test. */
function startUsers(t: Parameters<typeof ownFolder>[0]) {
  const folder = ownFolder(t);
  const etc = join(folder, 'etc');
  const node = join(folder, 'node');
  for (const path of [etc, node]) mkdirSync(path);
  for (const file of ['passwd', 'nsswitch.conf', 'ld.so.cache']) copyFileSync(join('/etc', file), join(etc, file));
  const command = rootCommand([process.execPath, join(import.meta.dirname, 'user-names-process.ts'), node]);
  const script = 'mount --bind "$0" /etc && exec "$@"';
  const child = spawn('unshare', ['--mount', '--propagation', 'slave', 'sh', '-c', script, etc, ...command], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  t.teardown(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  return {
    passwd: join(etc, 'passwd'),
    ask: async (question: Question): Promise<Answer> => {
      child.send(question);
      const [answer] = (await once(child, 'message')) as [Answer];
      return answer;
    },
    /** As `useradd` does. */
    addUser: (name: string, id: number): void => {
      const file = join(etc, 'passwd');
      copyFileSync(file, `${file}+`);
      appendFileSync(`${file}+`, `${name}:x:${id}:${id}::/:/bin/sh\n`);
      renameSync(`${file}+`, file);
    },
  };
}

t.test('users of pods keep their names when a program of the machine replaces /etc/passwd', { skip }, async (t) => {
  const { ask, addUser } = startUsers(t);
  const first = await ask({ pod: 'first' });
  t.equal(first.name, `pod-${first.user}`);

  addUser('one', 4_001);
  const second = await ask({ pod: 'second' });
  t.equal(second.name, `pod-${second.user}`, 'a new pod has a name at once');
  t.same(await ask({ user: first.user }), first, 'and the other pod has its own again');

  addUser('two', 4_002);
  for (const pod of [first, second]) {
    await eventually(
      () => ask({ user: pod.user }),
      ({ name }) => name === pod.name,
    );
  }
  for (const [name, user] of [
    ['one', 4_001],
    ['two', 4_002],
  ] as const) {
    t.same(await ask({ user }), { user, name }, 'the users that the machine adds have names, too');
  }
});

t.test("the machine's file does not change", { skip }, async (t) => {
  const { ask, addUser, passwd } = startUsers(t);
  const before = readFileSync(passwd, 'utf8');
  await ask({ pod: 'first' });
  t.equal(readFileSync(passwd, 'utf8'), before);
  addUser('one', 4_001);
  await ask({ pod: 'second' });
  t.equal(readFileSync(passwd, 'utf8'), `${before}one:x:4001:4001::/:/bin/sh\n`);
});
