import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { startChurn, type Churn } from './churn.ts';
import { eventually, testProject, uniqueName, type Answer, type Platform } from './platform.ts';

const hello = (version: string) => `localhost:5000/svc/hello:${version}`;

/** A deployment in an app's history. */
interface Entry {
  revision: number;
  status: string;
}

/** Two apps and a function that serve, and more that are continually created, changed and deleted. */
export interface WorkUnderFaults {
  /**
   * Sends requests to the running apps until the returned function is called, which returns the failed requests.
   * @param options.rolling whether a rollout runs during a fault of the cluster: then its app is excluded, because its
   * pods end while the cluster's endpoints lag (see {@link rested})
   */
  watchServing(options?: { rolling: boolean }): () => Promise<string[]>;
  /** Begins to create, change and delete workloads with this name prefix. */
  churn(t: Test, prefix: string): Promise<Churn>;
  /** Stops that, and asserts that every workload has its expected state, once. */
  settled(t: Test, churn: Churn): Promise<void>;
  /** Deploys another version of an app that serves. */
  deploy(): Promise<void>;
  /** Asserts that it was deployed twice: at its creation, and by {@link deploy}. */
  deployed(t: Test): Promise<void>;
  /** Resolves when everything serves. */
  serving(): Promise<void>;
  /**
   * Resolves when no rollout is in progress: the cluster's endpoints match the current pods. After an outage of its API
   * server they can lag for a minute, and an ingress uses them.
   */
  rested(): Promise<void>;
  /** The platform's report on its controllers. */
  health: () => Promise<Answer>;
  /** Resolves once they are healthy. */
  healthy(): Promise<Answer>;
}

/** The number of operations under load before a fault, and after it. */
export const someOperations = 15;

/** Far longer than workloads take to settle after a fault. */
const settleLimitMs = 10 * 60_000;

/** Of the app that is deployed again. */
const replicas = 2;

/** Everything is deleted when the test ends. */
export async function workUnderFaults(t: Test, platform: Platform): Promise<WorkUnderFaults> {
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  t.teardown(() => kube.close());
  const { project, namespace, flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'steady', '--image', hello('v1'), ...flags]);
  await platform.ok(['app', 'create', 'rolled', '--image', hello('v1'), '--replicas', String(replicas), ...flags]);
  const warm = uniqueName('warm');
  const dir = t.testdir({ 'warm.js': `export const handler = () => ({ statusCode: 200, body: 'warm' });` });
  await platform.ok([
    'function',
    'create',
    warm,
    '--runtime',
    'node',
    '--code-file',
    `${dir}/warm.js`,
    '--idle-timeout',
    '30m',
    ...flags,
  ]);
  const urlOf = async (kind: string, name: string) =>
    (await platform.json<{ url: string }>([kind, 'show', name, ...flags])).url;
  const rolled = await urlOf('app', 'rolled');
  const urls = [await urlOf('app', 'steady'), rolled, await urlOf('function', warm)];
  const history = async (app: string) => {
    // Until the API server has read everything, the platform reports that a component is unavailable.
    const ended = await eventually(
      () => platform.svc(['app', 'history', app, ...flags, '-o', 'json']),
      ({ code }) => code === 0,
    );
    return JSON.parse(ended.stdout) as Entry[];
  };
  const health = () => platform.request(`${platform.info.api}/health/controllers`);
  const serving = async () => {
    for (const url of urls) {
      await eventually(
        () => platform.request(url).catch(() => ({ status: 0 })),
        ({ status }) => status === 200,
      );
    }
  };
  await serving();

  const rested = async () => {
    const addresses = async (kind: string, path: string) => {
      const selector = kind === 'pods' ? 'app=rolled' : 'kubernetes.io/service-name=rolled';
      const listed = await platform.kubectl(
        '-n',
        namespace,
        'get',
        kind,
        '-l',
        selector,
        '-o',
        `jsonpath={range ${path}}{@}{"\\n"}{end}`,
      );
      // An API server that has just started may refuse the list.
      return listed.code === 0 ? listed.stdout.trim().split('\n').toSorted().join(' ') : undefined;
    };
    await eventually(
      () =>
        Promise.all([
          addresses('pods', '.items[*].status.podIP'),
          addresses('endpointslices', '.items[*].endpoints[*].addresses[*]'),
        ]),
      ([pods, endpoints]) => pods !== undefined && pods.split(' ').length === replicas && pods === endpoints,
    );
  };

  return {
    serving,
    rested,
    health,
    healthy: () => eventually(health, ({ status }) => status === 200),
    watchServing({ rolling } = { rolling: false }) {
      const stopping = new AbortController();
      const faults: string[] = [];
      const loop = async (url: string) => {
        while (!stopping.signal.aborted) {
          const { status, body } = await platform
            .request(url)
            .catch((error: Error) => ({ status: 0, body: error.message }));
          if (status !== 200) faults.push(`${new Date().toISOString()} ${url}: ${status} ${body}`);
          await wait(50);
        }
      };
      const loops = urls.filter((url) => !rolling || url !== rolled).map(loop);
      return async () => {
        stopping.abort();
        await Promise.all(loops);
        return faults;
      };
    },
    async churn(test, prefix) {
      const churn = await startChurn(kube, { project, prefix: uniqueName(prefix) });
      test.teardown(() => churn.stop());
      return churn;
    },
    async settled(test, churn) {
      await churn.stop();
      // Fails with the list of faults, which the file's time limit would not show.
      const deadline = performance.now() + settleLimitMs;
      test.same(
        await eventually(
          () => churn.faults(),
          (faults) => faults.length === 0 || performance.now() > deadline,
        ),
        [],
      );
      const apps = churn.apps();
      test.ok(apps.length > 0);
      for (const app of new Set([...apps.slice(0, 1), ...apps.slice(-1)])) {
        const entries = await eventually(
          () => history(app),
          (list) => list.every(({ status }) => status === 'succeeded'),
        );
        test.match(entries, [{ revision: 1, status: 'succeeded' }], `${app} was deployed`);
        test.equal(entries.length, 1, 'once');
      }
    },
    async deploy() {
      await platform.ok(['app', 'update', 'rolled', '--image', hello('v2'), '--no-wait', ...flags]);
    },
    async deployed(test) {
      const entries = await eventually(
        () => history('rolled'),
        (list) => list[0]?.status === 'succeeded',
      );
      test.equal(entries.length, 2, 'deployed twice: at its creation, and now');
    },
  };
}
