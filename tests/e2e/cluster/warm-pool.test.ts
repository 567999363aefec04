import t from 'tap';
import { codeVolume, functionContainer } from '../../../infra/manifests/function-pod.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { isContainerRunning, isPodLive, isStandIn, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { idLabel, roleLabel, systemNamespace, warmLabel } from '../../../runtime/domain/labels.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { codeFile } from '../../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

/** Generic pods, in which functions start (decision 0098). The embedded cluster has none. */
const platform = await runningPlatform();
const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
t.teardown(() => kube.close());

const codes = {
  node: `import { readFileSync, statSync } from 'node:fs';
export const handler = () => ({
  env: process.env,
  kernel: readFileSync('/proc/self/environ', 'utf8').split('\\0').filter(Boolean).map((line) => line.split('=')[0]).sort(),
  user: [process.getuid(), process.getgid(), ...process.getgroups()],
  code: readFileSync(process.env.SVC_CODE_FILE, 'utf8').length,
  folder: process.cwd(),
  tmp: statSync('/tmp').mode,
  caps: readFileSync('/proc/self/status', 'utf8').match(/^(Cap|NoNewPrivs|Seccomp)\\S*\\s.*$/gm),
});`,
  python: `import os
def handler(event, context=None):
    kernel = sorted(line.split('=')[0] for line in open('/proc/self/environ').read().split(chr(0)) if line)
    return {'env': dict(os.environ), 'kernel': kernel, 'user': [os.getuid(), os.getgid(), *os.getgroups()],
            'code': len(open(os.environ['SVC_CODE_FILE']).read()), 'folder': os.getcwd(), 'tmp': os.stat('/tmp').st_mode,
            'caps': [line for line in open('/proc/self/status') if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp'))]}
`,
};

interface Seen {
  env: Record<string, string>;
  [other: string]: unknown;
}

for (const runtime of ['node', 'python'] as const) {
  t.test(`a function in ${runtime} starts in a generic pod as it does in its own`, async (t) => {
    const { namespace, flags } = await testProject(t, platform);
    const name = uniqueName('warm');
    const file = codeFile(t, runtime === 'node' ? 'warm.mjs' : 'warm.py', codes[runtime]);
    await platform.ok(['function', 'create', name, '--runtime', runtime, '--code-file', file, ...flags]);
    await platform.ok(['function', 'env', 'set', name, 'GREETING=a "b" $$c ü', 'NODE_OPTIONS=--no-warnings', ...flags]);
    const { url, id } = await platform.json<{ url: string; id: string }>(['function', 'show', name, ...flags]);
    const list = async (labelSelector: string) => (await kube.list<Pod>(kinds.Pod, { namespace, labelSelector })).items;
    const ownPods = () => list(`${idLabel}=${id},${roleLabel}=serve`);
    const waiting = async () => {
      const pods = await list(warmLabel);
      return pods.filter((pod) => isPodLive(pod) && isContainerRunning(pod, functionContainer));
    };
    const [generic] = await eventually(waiting, (pods) => pods.length === 1);
    // The template of the function has the variables, which the first start has to get.
    await eventually(
      () => platform.kubectl('-n', namespace, 'get', 'deployment', name, '-o', 'json'),
      ({ stdout }) => stdout.includes(`function-${name}-env-`),
    );
    /** What svc-controllers printed of the environment. */
    const log = async () => {
      const { stdout } = await platform.kubectl(
        '-n',
        systemNamespace,
        'logs',
        'deployment/svc-controllers',
        '--tail=2000',
      );
      return stdout.split('\n').filter((line) => line.includes(namespace));
    };
    const ask = async () => (await platform.request(url)).json() as Seen;

    const first = await platform.request(url);
    t.equal(first.status, 200);
    t.equal(first.headers['x-svc-cold-start'], 'true');
    const warm = first.json() as Seen;
    const isGeneric = warm.env['HOSTNAME'] === generic?.metadata.name;
    t.ok(
      isGeneric,
      'the generic pod has answered',
      isGeneric ? {} : { answered: warm.env['HOSTNAME'], log: await log() },
    );
    const standIn = (await ownPods()).find(isStandIn);
    t.equal(standIn?.metadata.uid, generic?.metadata.uid);

    // Once its own pod is ready, the other one ends.
    const [own] = await eventually(ownPods, (pods) => pods.length === 1 && !pods.some(isStandIn));
    const cold = await ask();
    t.equal(cold.env['HOSTNAME'], own?.metadata.name);
    t.strictSame(withoutHost(warm), withoutHost(cold), 'variables, user, rights, code and folders are the same');
    t.strictSame(labelsOf(standIn), labelsOf(own), 'and so are the labels, except the one that a ReplicaSet adds');
    t.strictSame(standIn?.metadata.annotations ?? {}, own?.metadata.annotations ?? {});
    t.strictSame(specOf(standIn), specOf(own), 'account, user, rights, limits, ports and volumes');
    t.equal(warm.env['GREETING'], 'a "b" $c ü');

    const [refilled] = await eventually(waiting, (pods) => pods.length === 1);
    t.not(refilled?.metadata.uid, generic?.metadata.uid, 'a pod is used once');
    const logs = await platform.ok(['function', 'logs', name, ...flags]);
    t.match(logs, 'function ready');
  });
}

t.test('the pool ends with the functions that can use it', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('warm');
  const file = codeFile(t, 'warm.mjs', codes.node);
  await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  const pools = async () => {
    const { items } = await kube.list(kinds.Deployment, { namespace, labelSelector: warmLabel });
    return items.length;
  };
  await eventually(pools, (count) => count === 1);
  await platform.ok(['function', 'delete', name, '--yes', ...flags]);
  await eventually(pools, (count) => count === 0);
  t.pass();
});

function withoutHost({ env: variables, ...rest }: Seen): object {
  const { HOSTNAME: _, ...env } = variables;
  return { ...rest, env };
}

function labelsOf(pod: Stored<Pod> | undefined): object {
  const { 'pod-template-hash': _, ...labels } = pod?.metadata.labels ?? {};
  return labels;
}

/** The containers of a pod, and the rest of its spec without what a generic pod has instead of code and variables. */
function specOf(pod: Stored<Pod> | undefined): object {
  const { containers, volumes, ...spec } = structuredClone(pod?.spec ?? {}) as Record<string, unknown> & {
    containers?: Record<string, unknown>[];
    volumes?: { name: string }[];
  };
  const others = containers?.map((container) => {
    const { command: _, env: __, envFrom: ___, volumeMounts, ...rest } = container;
    const mounts = volumeMounts as { name: string; mountPath: string }[];
    return { ...rest, volumeMounts: mounts.filter(({ name }) => name !== codeVolume) };
  });
  return { ...spec, containers: others, volumes: volumes?.filter(({ name }) => name !== codeVolume) };
}
