import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { newObjectMetadata } from '../../runtime/workloads/create.ts';
import { environmentsOf, type Environment } from '../../runtime/kube/environments.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** Between two operations of one connection, and before an operation that the API server refused is repeated. */
const pauseMs = 200;

const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs));

interface DesiredObject {
  kind: 'App' | 'Function';
  name: string;
  /** The id that its children and claims carry. */
  id: string;
  port: number;
  /** Whether its last operation is its deletion. */
  gone: boolean;
}

/** Apps and functions without pods that are continually created, changed and deleted, and their expected state. */
export interface Churn {
  /** Resolves when `count` more operations have been done. */
  advance(operations: number): Promise<void>;
  /** Starts no further operation, and ends once the API server has accepted every one that was started. */
  stop(): Promise<void>;
  /** The differences from the expected state, in words; none when everything has settled. */
  faults(): Promise<string[]>;
  /** Names of the apps that were not deleted. */
  apps(): string[];
  operations(): number;
}

interface Labelled extends KubeObject {
  spec: { release?: { generation: number } };
  status?: { phase?: string; observedGeneration?: number };
}

/**
 * Writes as users do with kubectl: repeats failed operations, on `connections` connections at once. Each workload is
 * created, its port is changed twice, and every second one is deleted.
 * @param prefix of the names, which are unique in the cluster
 */
export async function startChurn(
  kube: KubeClient,
  { project, prefix, width = 3 }: { project: string; prefix: string; width?: number },
): Promise<Churn> {
  const environment = await environmentOf(kube, project);
  const desiredObjects: DesiredObject[] = [];
  const waiting: { at: number; resolve: () => void }[] = [];
  let operations = 0;
  const stopping = new AbortController();

  /** @param call must also succeed when an earlier attempt, without an answer, took effect */
  const insist = async (call: () => Promise<unknown>) => {
    for (;;) {
      try {
        await call();
        operations++;
        for (const { at, resolve } of waiting) if (operations >= at) resolve();
        await pause();
        return;
      } catch (error) {
        if (isFinal(error)) throw error;
        await pause();
      }
    }
  };

  const live = async (number: number) => {
    const kind = number % 3 === 0 ? ('App' as const) : ('Function' as const);
    const metadata = newObjectMetadata(kind, `${prefix}-${number}`, environment);
    const desired: DesiredObject = {
      kind,
      name: metadata.name,
      id: metadata.labels?.[idLabel] ?? '',
      port: 8001,
      gone: false,
    };
    const spec =
      kind === 'App'
        ? { image: 'localhost:5000/svc/hello:v1', port: desired.port, replicas: 0 }
        : { runtime: 'node', code: `export const handler = () => ${number};`, trigger: 'http', port: desired.port };
    desiredObjects.push(desired);
    const object: KubeObject = { apiVersion: 'platform.svc/v1', kind, metadata, spec };
    const ref = { apiVersion: object.apiVersion, kind, namespace: environment.namespace, name: desired.name };
    await insist(() =>
      kube.create(object).catch((error: unknown) => {
        if (!isKubeError(error, 409)) throw error;
      }),
    );
    for (const port of [8002, 8003]) {
      desired.port = port;
      await insist(() => kube.mergePatch(ref, { spec: { port } }));
    }
    if (number % 2 === 1) return;
    desired.gone = true;
    await insist(() => kube.delete(ref));
  };

  let next = 0;
  const work = async () => {
    while (!stopping.signal.aborted) await live(next++);
  };
  const workers = Array.from({ length: width }, work);
  // The caller of `stop` gets the error.
  for (const worker of workers) worker.catch(() => undefined);

  return {
    advance: (count) =>
      Promise.race([
        new Promise<void>((resolve) => waiting.push({ at: operations + count, resolve })),
        Promise.all(workers).then(() => undefined),
      ]),
    async stop() {
      stopping.abort();
      await Promise.all(workers);
    },
    // An API server that has just started refuses to list a kind until it has read the objects.
    faults: () =>
      compare(kube, environment.namespace, desiredObjects).catch((error: unknown) => {
        if (isFinal(error)) throw error;
        return [`the API server does not say: ${String(error)}`];
      }),
    apps: () => desiredObjects.filter(({ kind, gone }) => kind === 'App' && !gone).map(({ name }) => name),
    operations: () => operations,
  };
}

/** Whether the API server's answer is final, so that a retry cannot help. */
function isFinal(error: unknown): boolean {
  return isKubeError(error) && [400, 403, 404, 422].includes(error.status);
}

async function environmentOf(kube: KubeClient, project: string): Promise<Environment> {
  const liveProject = await kube.get<Project>(kinds.Project, project);
  const environment = liveProject && environmentsOf(liveProject)[0];
  if (!environment) throw new Error(`the project "${project}" has no environment`);
  return environment;
}

/** The number of each kind that a settled workload has. */
const children: Record<DesiredObject['kind'], readonly [ResourceKind, number][]> = {
  App: [
    [kinds.WorkloadName, 1],
    [kinds.HostName, 1],
    [kinds.Deployment, 1],
    [kinds.Service, 1],
    [kinds.IngressRoute, 1],
    [kinds.ConfigMap, 0],
  ],
  Function: [
    [kinds.WorkloadName, 1],
    [kinds.HostName, 1],
    [kinds.Deployment, 1],
    [kinds.Service, 0],
    [kinds.IngressRoute, 1],
    [kinds.ConfigMap, 1],
  ],
};

async function compare(
  kube: KubeClient,
  namespace: string,
  desiredObjects: readonly DesiredObject[],
): Promise<string[]> {
  const all = async (kind: ResourceKind) => (await kube.list<Labelled>(kind, { labelSelector: idLabel })).items;
  const [apps, functions] = await Promise.all([all(kinds.App), all(kinds.Function)]);
  const childrenByOwner = new Map<string, Stored<Labelled>[]>();
  for (const [kind] of children.App) {
    for (const object of await all(kind)) {
      const key = `${kind.kind} ${object.metadata.labels?.[idLabel]}`;
      childrenByOwner.set(key, [...(childrenByOwner.get(key) ?? []), object]);
    }
  }
  return desiredObjects.flatMap((desired) => {
    const { kind, name, id, port, gone } = desired;
    const own = (kind === 'App' ? apps : functions).find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    );
    const counts = children[kind].flatMap(([child, expected]) => {
      const count = childrenByOwner.get(`${child.kind} ${id}`)?.length ?? 0;
      return count === (gone ? 0 : expected) ? [] : [`${kind} ${name}: ${count} of ${child.kind}`];
    });
    if (gone) return own ? [`${kind} ${name}: still there`, ...counts] : counts;
    if (!own) return [`${kind} ${name}: lost`, ...counts];
    const { phase = 'none', observedGeneration } = own.status ?? {};
    const observed = observedGeneration === own.metadata.generation && ['running', 'idle'].includes(phase);
    const [deployment] = childrenByOwner.get(`Deployment ${id}`) ?? [];
    const current = deployment === undefined || JSON.stringify(deployment.spec).includes(`"containerPort":${port}`);
    const deployed = kind === 'Function' || own.spec.release?.generation === 1;
    return [
      ...counts,
      ...(deployed ? [] : [`${kind} ${name}: deployed ${own.spec.release?.generation ?? 0} times`]),
      ...(observed ? [] : [`${kind} ${name}: phase ${phase}`]),
      ...(current ? [] : [`${kind} ${name}: its Deployment has another port`]),
      ...(own.metadata.labels?.[idLabel] === id ? [] : [`${kind} ${name}: made twice`]),
    ];
  });
}
