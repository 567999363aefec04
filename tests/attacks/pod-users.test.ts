import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import t from 'tap';
import { loadAccess } from '../../infra/local/apiserver/access.ts';
import type { NodePod } from '../../infra/local/node/pod-spec.ts';
import { openUsers } from '../../infra/local/node/users.ts';
import { reachablePath } from '../../infra/local/reachable-path.ts';
import { identify } from '../../infra/process-record.ts';
import { isPodReady } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { eventually } from '../support/platform.ts';
import { ownFolder } from '../support/own-folder.ts';
import { startNode, type NodeUnderTest } from '../support/local-node.ts';

/**
 * On the embedded cluster, a pod is a process of the machine. When root starts it, each pod has a user of its own, so a
 * tenant's program can neither read nor change what belongs to the machine, the cluster or another pod.
 */
const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'only root can give pods users of their own';
const project = join(import.meta.dirname, '../..');

const idle = `import { writeFileSync } from 'node:fs';
writeFileSync('pid', String(process.pid));
setInterval(() => {}, 1000);`;
/** Ready once it has written its process id. */
const idleContainer = { name: 'main', image: 'idle:1', readinessProbe: { exec: { command: ['test', '-s', 'pid'] } } };

/** Tries everything that ATTEMPTS names, in base64, and prints what succeeds. Changes nothing, even if it can. */
const thief = `import { chmodSync, openSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
const { read, list, write, kill, run } = JSON.parse(Buffer.from(process.env.ATTEMPTS, 'base64'));
const successes = [];
const attempt = (what, action) => { try { action(); successes.push(what); } catch {} };
for (const path of read) attempt('read ' + path, () => readFileSync(path));
for (const path of list) attempt('list ' + path, () => readdirSync(path));
for (const path of write) {
  attempt('write ' + path, () => openSync(path, 'a'));
  attempt('chmod ' + path, () => chmodSync(path, statSync(path).mode));
}
for (const pid of kill) attempt('signal ' + pid, () => process.kill(pid, 0));
for (const path of run) attempt('root by ' + path, () => {
  if (execFileSync(path, ['-u'], { encoding: 'utf8' }).trim() !== '0') throw new Error();
});
attempt('become root', () => process.setuid(0));
process.stdout.write(JSON.stringify({ successes, uid: process.getuid(), groups: process.getgroups() }));`;

const podFolder = ({ folder }: NodeUnderTest, pod: Stored<NodePod>) => join(folder, 'node/pods', pod.metadata.uid);

async function readyPod(under: NodeUnderTest, name: string, spec: Partial<NodePod['spec']> = {}) {
  await under.pod(name, { containers: [idleContainer], ...spec });
  return under.until(name, isPodReady);
}

async function output(under: NodeUnderTest, pod: Stored<NodePod>, command: readonly string[]): Promise<string> {
  let text = '';
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const { uid } = pod.metadata;
  await under.node.exec({ uid, container: 'main' }, { command }, { stdout }, AbortSignal.timeout(20_000));
  return text.trim();
}

async function createClaim(under: NodeUnderTest, name: string): Promise<string> {
  const claim = await under.kube.create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
  });
  return join(under.folder, 'node/claims', claim.metadata.uid);
}

const mounting = (...claims: string[]): Pick<NodePod['spec'], 'volumes' | 'containers'> => ({
  volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  containers: [{ ...idleContainer, volumeMounts: claims.map((name) => ({ name, mountPath: `/${name}` })) }],
});

t.test('a pod cannot read or change files of the machine, the cluster or another pod', { skip }, async (t) => {
  const under = await startNode(t);
  const { image, pod, until, log, kube, folder } = under;
  loadAccess(join(folder, 'apiserver/pki'), [], systemClock.now());
  writeFileSync(join(folder, 'admin-password'), 'secret', { mode: 0o600 });
  await image('idle:1', idle);
  const setuid = join(folder, 'contexts', encodeURIComponent('thief:1'), 'id');
  mkdirSync(join(setuid, '..'), { recursive: true });
  writeFileSync(setuid, readFileSync('/usr/bin/id'));
  chmodSync(setuid, 0o4755);
  await image('thief:1', thief);
  const data = { password: Buffer.from('correct-horse').toString('base64') };
  await kube.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys', namespace: 'default' }, data });
  const claim = await createClaim(under, 'data');
  const { volumes = [], containers } = mounting('data');
  const victim = await readyPod(under, 'victim', {
    automountServiceAccountToken: true,
    serviceAccountName: 'default',
    volumes: [...volumes, { name: 'keys', secret: { secretName: 'keys' } }, { name: 'scratch', emptyDir: {} }],
    containers: containers.map((container) => ({
      ...container,
      volumeMounts: [...(container.volumeMounts ?? []), { name: 'keys', mountPath: '/keys' }],
      env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } }],
    })),
  });
  t.equal(await output(under, victim, ['sh', '-c', 'echo x >/data/file; echo $PASSWORD']), 'correct-horse');
  const files = podFolder(under, victim);
  const work = join(files, 'containers/main/work');
  const pid = Number(readFileSync(join(work, 'pid'), 'utf8'));
  const imageFolder = (await under.images.find('idle:1'))?.folder ?? '';

  const attempts = {
    read: [
      '/etc/shadow',
      join(folder, 'admin-password'),
      ...readdirSync(join(folder, 'apiserver/pki')).map((name) => join(folder, 'apiserver/pki', name)),
      join(files, 'volumes/keys/password'),
      join(files, 'volumes/service-account/token'),
      join(files, 'containers/main/0.log'),
      join(work, 'pid'),
      join(claim, 'file'),
      `/proc/${pid}/environ`,
      `/proc/${process.pid}/environ`,
    ],
    list: [
      join(folder, 'node/pods'),
      join(folder, 'node/claims'),
      join(folder, 'images/blobs'),
      join(folder, 'images/tags'),
      join(folder, 'images/owners'),
      files,
      work,
      claim,
      join(files, 'volumes/keys'),
      join(files, 'volumes/scratch'),
      join(files, 'containers/main/tmp'),
    ],
    write: [
      '/etc/passwd',
      join(project, 'package.json'),
      join(imageFolder, 'main.mjs'),
      join(imageFolder, 'new'),
      join(folder, 'node/hosts'),
      join(folder, 'node/bin/tini'),
      join(folder, 'node/bin/preload.cjs'),
      join(files, 'containers/main/process.json'),
      join(work, 'new'),
      join(claim, 'file'),
      join(claim, 'new'),
    ],
    kill: [pid, process.pid, 1],
    run: [join((await under.images.find('thief:1'))?.folder ?? '', 'id')],
  };
  for (const path of [...attempts.read, ...attempts.list]) t.ok(existsSync(path), `${path} exists`);
  // The node translates paths such as /tmp in variables.
  const value = Buffer.from(JSON.stringify(attempts)).toString('base64');
  await pod('thief', {
    restartPolicy: 'Never',
    containers: [{ name: 'main', image: 'thief:1', env: [{ name: 'ATTEMPTS', value }] }],
  });
  const ended = await until('thief', ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed');
  const result = JSON.parse(await log(ended, 'main')) as { successes: string[]; uid: number; groups: number[] };
  t.same(result.successes, []);
  t.not(result.uid, 0);
  t.same(result.groups, [result.uid], 'it is in no group but its own');
  t.ok(identify('victim', pid), 'the other pod still runs');
});

t.test('a pod uses only its own files, with one user in all its programs', { skip }, async (t) => {
  const under = await startNode(t);
  await under.image('idle:1', idle);
  const data = { password: Buffer.from('x').toString('base64') };
  await under.kube.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys', namespace: 'default' }, data });
  const volumeMounts = [
    { name: 'keys', mountPath: '/keys' },
    { name: 'scratch', mountPath: '/scratch' },
  ];
  const used = await readyPod(under, 'used', {
    volumes: [
      { name: 'keys', secret: { secretName: 'keys', defaultMode: 0o400 } },
      { name: 'scratch', emptyDir: {} },
    ],
    containers: [{ ...idleContainer, volumeMounts }],
  });
  const main = readFileSync(join(podFolder(under, used), 'containers/main/work/pid'), 'utf8');
  const user = String(statSync(`/proc/${main}`).uid);
  const script = `id -u; id -G; cat /keys/password; echo; for folder in /scratch /tmp . "$HOME" "$TMPDIR"; do
    echo x >"$folder/new" && echo wrote; done; echo x >>/keys/password || echo refused; echo bye >/dev/termination-log`;
  const printed = await output(under, used, ['sh', '-c', script]);
  t.same(printed.split('\n'), [user, user, 'x', ...Array.from({ length: 5 }, () => 'wrote'), 'refused']);
  await under.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'used' });
  await eventually(
    async () => existsSync(podFolder(under, used)),
    (exists) => !exists,
  );
});

t.test(
  'pods that mount the same volume share its user, also one after the other; no others do',
  { skip },
  async (t) => {
    const under = await startNode(t);
    await under.image('idle:1', idle);
    const claims = { a: await createClaim(under, 'a'), b: await createClaim(under, 'b') };
    // As a server of an earlier version left it, which ran as a user of the system.
    mkdirSync(claims.a, { recursive: true });
    writeFileSync(join(claims.a, 'old'), 'old', { mode: 0o600 });
    chownSync(claims.a, 33, 33);
    const remove = async (name: string) => {
      await under.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name });
      await under.untilGone(name);
    };
    const id = (pod: Stored<NodePod>) => output(under, pod, ['id', '-u']);

    const first = await readyPod(under, 'first', mounting('a'));
    const user = await id(first);
    t.equal(await output(under, first, ['sh', '-c', 'cat /a/old; umask 077; echo mine >/a/new']), 'old');
    const second = await readyPod(under, 'second', mounting('a'));
    t.equal(await id(second), user);
    const other = await readyPod(under, 'other', mounting('b'));
    t.not(await id(other), user);
    const plain = await readyPod(under, 'plain');
    t.equal(new Set([user, await id(other), await id(plain)]).size, 3);

    await under.pod('both', mounting('a', 'b'));
    await eventually(
      async () => under.kube.all<KubeObject & { message: string }>(kinds.Event),
      (events) => events.some(({ message }) => message.includes('in use by pods with different users')),
    );
    await remove('other');
    const both = await under.until('both', isPodReady);
    t.equal(await id(both), user, 'once no pod uses the other volume, it belongs to the same user');
    for (const name of ['first', 'second', 'both']) await remove(name);
    const next = await readyPod(under, 'next', mounting('a'));
    t.equal(await id(next), user, 'a volume keeps its user');
    t.equal(await output(under, next, ['sh', '-c', 'cat /a/new; echo more >>/a/new; cat /a/new']), 'mine\nmine\nmore');
  },
);

t.test('a pod keeps its user over a restart of the node, which ends all its processes', { skip }, async (t) => {
  const before = await startNode(t);
  await before.image('idle:1', idle);
  const pod = await readyPod(before, 'lasting');
  // It leaves its container, as far as a process can.
  await output(before, pod, ['sh', '-c', 'setsid env -i sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >escaped']);
  const { gid: user } = statSync(podFolder(before, pod));
  const escaped = Number(readFileSync(join(podFolder(before, pod), 'containers/main/work/escaped'), 'utf8'));
  t.ok(identify('escaped', escaped));
  await before.node.stop();
  // It has been killed, which takes effect when it gets a processor.
  await eventually(
    () => Promise.resolve(identify('escaped', escaped)),
    (running) => running === undefined,
  );
  t.notOk(identify('escaped', escaped), 'it ends with its pod');
  const orphan = spawn('sleep', ['1000'], { uid: user, gid: user, detached: true, stdio: 'ignore' });
  const orphanEnded = once(orphan, 'exit');
  const after = await startNode(t, {}, before);
  await orphanEnded;
  const again = await after.until(
    'lasting',
    (seen) => seen.status?.containerStatuses?.[0]?.restartCount === 1 && isPodReady(seen),
  );
  t.equal(statSync(podFolder(after, again)).gid, user);
});

t.test(
  'a step of a pod finds neither the secrets of other steps nor processes of earlier ones',
  { skip },
  async (t) => {
    const under = await startNode(t);
    await under.image('idle:1', idle);
    const data = { password: Buffer.from('x').toString('base64') };
    await under.kube.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys', namespace: 'default' },
      data,
    });
    const shared = { name: 'shared', mountPath: '/shared' };
    const isAlive = `grep -qs '^State:.[RSD]' "/proc/$(cat /shared/escaped)/status"`;
    const search = 'cat ../../../volumes/*/password';
    const step = (name: string, script: string, ...secrets: string[]) => ({
      name,
      image: 'idle:1',
      command: ['sh', '-c', script],
      volumeMounts: [shared, ...secrets.map((volume) => ({ name: volume, mountPath: `/${volume}` }))],
    });
    await under.pod('steps', {
      restartPolicy: 'Never',
      volumes: [
        { name: 'shared', emptyDir: {} },
        ...['first', 'last'].map((name) => ({ name, secret: { secretName: 'keys' } })),
      ],
      initContainers: [
        step('clone', 'cat /first/password', 'first'),
        step(
          'build',
          `${search} && exit 1; setsid env -i sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >/shared/escaped`,
        ),
      ],
      containers: [step('push', `cat /last/password; while ${isAlive}; do sleep 0.05; done`, 'last')],
    });
    const ended = await under.until('steps', ({ status }) => /Succeeded|Failed/.test(status?.phase ?? ''));
    t.equal(ended.status?.phase, 'Succeeded', JSON.stringify(ended.status));
    t.equal(await under.log(ended, 'clone'), 'x\n');
    t.equal((await under.log(ended, 'push')).split('\n')[0]?.[0], 'x');
  },
);

t.test('the target of an image’s link is unchanged when a volume is mounted below the link', { skip }, async (t) => {
  const under = await startNode(t);
  const bystander = join(ownFolder(t), 'bystander');
  mkdirSync(join(bystander, 'jobs'), { recursive: true });
  writeFileSync(join(bystander, 'jobs/job'), 'kept');
  const context = join(under.folder, 'contexts', encodeURIComponent('idle:1'));
  mkdirSync(join(context, 'real/jobs'), { recursive: true });
  writeFileSync(join(context, 'real/jobs/job'), 'kept');
  writeFileSync(join(context, 'real/file'), 'seen');
  symlinkSync(bystander, join(context, 'linked'));
  await under.image('idle:1', idle);
  const volumes = ['one', 'two'].map((name) => ({ name, emptyDir: {} }));
  const volumeMounts = [
    { name: 'one', mountPath: '/app/linked/jobs' },
    { name: 'two', mountPath: '/app/real/jobs' },
  ];
  const pod = await readyPod(under, 'nested', { volumes, containers: [{ ...idleContainer, volumeMounts }] });
  const printed = await output(under, pod, [
    'sh',
    '-c',
    'echo x >linked/jobs/new; echo x >real/jobs/new; cat /app/real/file; ls linked/jobs real/jobs | grep new',
  ]);
  t.equal(printed, 'seennew\nnew');
  t.same(readdirSync(join(bystander, 'jobs')), ['job']);
  t.same(readdirSync(join((await under.images.find('idle:1'))?.folder ?? '', 'real/jobs')), ['job']);
});

t.test('two nodes of a machine give no user twice', { skip }, async (t) => {
  const blocks = ownFolder(t);
  const nodes = [ownFolder(t), ownFolder(t)].map((node) => {
    const folders = { node, pods: join(node, 'pods'), claims: join(node, 'claims') };
    const users = new Set<number>();
    return { folders, users, open: () => openUsers(folders, undefined, blocks) };
  });
  for (const { folders, users, open } of nodes) {
    const opened = open();
    const names = Array.from({ length: 20 }, (_, index) => join(folders.pods, String(index)));
    for (const user of await Promise.all(names.map((name) => opened.assign(name, [])))) users.add(user);
    const again = open();
    users.add(await again.assign(names[0] ?? '', []));
    t.equal(users.size, 20, 'a pod keeps its user');
  }
  const [one, two] = nodes.map(({ users }) => Math.min(...users) - (Math.min(...users) % 65_536));
  t.not(one, two);
  t.equal(new Set(nodes.flatMap(({ users }) => [...users])).size, 40);
});

t.test(
  'what pods need from a folder that is closed to others is copied, and renewed when it changes',
  { skip },
  (t) => {
    const folder = ownFolder(t);
    const closed = join(folder, 'closed');
    const modules = join(closed, 'node_modules');
    for (const name of ['needed', 'tool']) mkdirSync(join(modules, name), { recursive: true });
    const lock = (version: string) =>
      writeFileSync(
        join(modules, '.package-lock.json'),
        JSON.stringify({ packages: { 'node_modules/needed': { version }, 'node_modules/tool': { dev: true } } }),
      );
    lock('1');
    const copies = join(folder, 'copies');
    t.equal(reachablePath(modules, copies), modules, 'others can reach it');
    chmodSync(closed, 0o700);
    const copy = reachablePath(modules, copies);
    t.same(readdirSync(copy), ['.package-lock.json', 'needed']);
    t.equal(reachablePath(modules, copies), copy);
    lock('2');
    t.not(reachablePath(modules, copies), copy);
    t.notOk(existsSync(copy));
    t.end();
  },
);
