import t from 'tap';
import { runningPlatform, testProject, uniqueName } from '../support/platform.ts';

/* A change is in the next answer, whichever replica of the API gives it (docs/decisions/0091-reads-from-copies.md). */

const platform = await runningPlatform();

t.test('each change is in the next list and the next read', async (t) => {
  const { flags } = await testProject(t, platform);
  const project = flags[1] ?? '';
  const sizes = ['64Mi', '96Mi', '128Mi'];
  for (let round = 0; round < 3; round++) {
    // Each command has a connection of its own, so on a cluster the replicas take turns.
    const name = `j${round}`;
    await platform.ok(['job', 'create', name, '--image', 'localhost:5000/svc/hello:v1', ...flags]);
    t.match(
      (await platform.json<{ name: string }[]>(['job', 'list', ...flags])).map((job) => job.name),
      Array.from({ length: round + 1 }, (_, index) => `j${index}`),
    );
    for (const memory of sizes) {
      await platform.ok(['job', 'update', name, '--memory', memory, ...flags]);
      t.match(await platform.json(['job', 'show', name, ...flags]), { memory }, memory);
    }
  }
  const other = uniqueName('reads');
  await platform.ok(['project', 'create', other]);
  t.ok((await platform.json<{ name: string }[]>(['project', 'list'])).some(({ name }) => name === other));
  await platform.ok(['project', 'delete', other, '--yes']);
  t.notOk((await platform.json<{ name: string }[]>(['project', 'list'])).some(({ name }) => name === other));
  await platform.ok(['job', 'delete', 'j0', '--yes', ...flags]);
  const remaining = await platform.json<{ name: string }[]>(['job', 'list', '--project', project]);
  t.notOk(remaining.some(({ name }) => name === 'j0'));
});

t.test('what the cluster changes shows without a change through the API', async (t) => {
  const { flags, namespace } = await testProject(t, platform);
  await platform.ok(['job', 'create', 'task', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
  const patch = JSON.stringify({ spec: { memory: '96Mi' } });
  await platform.kubectl('-n', namespace, 'patch', 'jobs.platform.svc', 'task', '--type=merge', '-p', patch);
  const show = () => platform.json<{ memory?: string }>(['job', 'show', 'task', ...flags]);
  while ((await show()).memory !== '96Mi') await new Promise((resolve) => setTimeout(resolve, 100));
});
