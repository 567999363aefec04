import t from 'tap';
import { codeFile } from '../../support/code-file.ts';
import { eventually, runningPlatform, testProject } from '../../support/platform.ts';

const platform = await runningPlatform();

interface Metrics {
  figures: Record<string, (number | null)[]>;
  deployments?: { revision: number }[];
}

interface Top {
  kind: string;
  name: string;
  memoryBytes: number | null;
  cpuCores: number | null;
  requestsPerSecond: number | null;
}

/** The sum of a figure's values. */
function sum(values: readonly (number | null)[] | undefined): number {
  return (values ?? []).reduce<number>((total, value) => total + (value ?? 0), 0);
}

t.test('requests to an app and a function show up in their metrics, and in top', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
  const file = codeFile(t, 'greet.js', 'exports.handler = async () => ({ statusCode: 200, body: "hi" });');
  await platform.ok(['function', 'create', 'greet', '--runtime', 'node', '--code-file', file, ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  const { url: greet } = await platform.json<{ url: string }>(['function', 'show', 'greet', ...flags]);
  const metrics = (kind: string, name: string) =>
    platform.json<Metrics>([kind, 'metrics', name, '--range', '1h', '--step', '15s', ...flags]);

  // The first collection after a series begins has to come before the requests that are looked for in the next ones.
  const seen = await eventually(
    async () => {
      await platform.request(url);
      await platform.request(greet);
      return { api: await metrics('app', 'api'), greet: await metrics('function', 'greet') };
    },
    ({ api, greet: { figures } }) =>
      sum(api.figures['requestsPerSecond']) > 0 &&
      sum(figures['requestsPerSecond']) > 0 &&
      sum(api.figures['cpuCores']) > 0,
  );
  t.match(seen.api.deployments, [{ revision: 1 }]);
  t.ok(sum(seen.api.figures['latencyP95Seconds']) > 0);
  t.ok((seen.api.figures['memoryBytes']?.findLast((value) => value !== null) ?? 0) > 1e6, 'bytes of its processes');
  t.equal(
    seen.api.figures['replicas']?.findLast((value) => value !== null),
    1,
  );
  t.ok(sum(seen.greet.figures['coldStarts']) > 0, 'the first request of a function waits for a pod');

  const top = await eventually(
    () => platform.json<Top[]>(['top', ...flags]),
    (items) => items.some(({ name, requestsPerSecond }) => name === 'api' && requestsPerSecond !== null),
  );
  t.match(top.map(({ kind, name }) => `${kind} ${name}`).toSorted(), ['app api', 'function greet']);
  const text = await platform.ok(['app', 'metrics', 'api', ...flags]);
  t.match(text, /^requests .*[▁▂▃▄▅▆▇█]/m);
});
