import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';

interface Volume {
  status: string;
  capacity?: string;
  storageClass?: string;
  mountedBy: { kind: string; name: string }[];
}

interface StorageClass {
  metadata: { name: string };
  volumeBindingMode: 'Immediate' | 'WaitForFirstConsumer';
}

t.test("a volume keeps one run's data for the next, and is deleted only when no workload mounts it", async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const classes = await platform.kubectl('get', 'storageclasses', '-o', 'json');
  const [{ metadata, volumeBindingMode }] = (JSON.parse(classes.stdout) as { items: [StorageClass] }).items;
  const storageClass = metadata.name;
  await platform.ok(['volume', 'create', 'data', '--size', '64Mi', ...flags]);
  const show = () => platform.json<Volume>(['volume', 'show', 'data', ...flags]);
  const first = volumeBindingMode === 'Immediate' ? 'ready' : 'waiting';
  t.match(await eventually(show, ({ status }) => status === first), { storageClass, mountedBy: [] });

  // Each run adds a line and prints all.
  const code = `const fs = require('node:fs'); fs.appendFileSync('/data/log', 'line\\n'); process.stdout.write(fs.readFileSync('/data/log'))`;
  const words = ['node', '-e', code].map((word) => `--command=${word}`);
  await platform.ok(['job', 'create', 'writer', '--image', image, ...words, '--volume', 'data:/data', ...flags]);
  for (const printed of ['line', 'line\nline']) {
    await platform.ok(['job', 'run', 'writer', ...flags]);
    await eventually(
      () => platform.ok(['job', 'logs', 'writer', ...flags]),
      (log) => log === printed,
    );
  }
  const mounted = await eventually(show, ({ status }) => status === 'ready');
  t.match(mounted, { status: 'ready', capacity: '64Mi', mountedBy: [{ kind: 'Job', name: 'writer' }] });

  for (const [args, code, message] of [
    [
      ['resize', 'data', '--size', '128Mi'],
      1,
      new RegExp(`class "${storageClass}" cannot expand volumes.*volume_not_expandable`),
    ],
    [['resize', 'data', '--size', '1Mi'], 2, /cannot shrink.*invalid_value/],
    [['delete', 'data', '--yes'], 1, /mounted by the job "writer".*in_use/],
    [['create', 'data', '--size', '1Gi'], 1, /already_exists/],
    [
      ['create', 'other', '--size', '1Gi', '--class', 'none'],
      2,
      new RegExp(`no storage class "none"\\. Its storage classes: .*${storageClass}`),
    ],
  ] as const) {
    const refused = await platform.svc(['volume', ...args, ...flags]);
    t.equal(refused.code, code, args.join(' '));
    t.match(refused.stderr, message);
  }

  // Without the API's check the controller refuses as well: the claim stays until the job is deleted.
  await platform.kubectl('-n', namespace, 'delete', 'svol', 'data', '--wait=false');
  await eventually(show, ({ status }) => status === 'deleting');
  const claim = await platform.kubectl(
    '-n',
    namespace,
    'get',
    'pvc',
    'data',
    '-o',
    'jsonpath={.metadata.deletionTimestamp}',
  );
  t.same([claim.code, claim.stdout], [0, '']);
  await platform.ok(['job', 'delete', 'writer', '--yes', ...flags]);
  const remaining = await eventually(
    () => platform.kubectl('-n', namespace, 'get', 'svol,pvc', '-o', 'name'),
    ({ stdout }) => stdout === '',
  );
  t.equal(remaining.stdout, '');
});
