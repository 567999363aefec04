import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { FunctionDeployment } from '../../infra/manifests/function.ts';
import { functionContainer, type CodeConfigMap } from '../../infra/manifests/function-pod.ts';
import { warmPoolName, warmSources, type WarmSources } from '../../infra/manifests/warm-pool.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import {
  isContainerRunning,
  isPodLive,
  isPodReady,
  isStandIn,
  restartsOf,
  type Pod,
} from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { WarmStart } from '../../runtime/contracts/warm-start.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { appLabel, idLabel, kindLabel, warmLabel } from '../../runtime/domain/labels.ts';
import { refOf } from '../../runtime/kube/children.ts';
import type { Informer } from '../../runtime/kube/informer.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Secret } from '../../runtime/workloads/owned-secret.ts';
import type { CallWarmPod } from './call.ts';
import { isBroken, standInEnd, type StandInEnd } from './stand-in.ts';
import { readToken } from './token.ts';
import { warmTemplateOf } from './warmable.ts';

/** How long requests may take on a generic pod after the function's own pod is ready. */
const drainSeconds = 3_600;
/** The preStop hook and the end of the process, in addition. */
const graceSeconds = drainSeconds + 30;
/** Interval of checks of all pods, for what was interrupted. */
const sweepMs = 30_000;

export interface WarmStartsOptions {
  kube: Pick<KubeClient, 'get' | 'mergePatch' | 'delete' | 'cache'>;
  functions: Pick<Informer<FunctionResource>, 'get'>;
  deployments: Pick<Informer<FunctionDeployment>, 'get' | 'onChange'>;
  /** At least all pods with the label of a workload's kind. */
  pods: Pick<Informer<Pod>, 'list' | 'listIn' | 'listLabeled' | 'onChange'>;
  call: CallWarmPod;
  /** Called when a function could not be started in a pod that was taken. */
  onFailure: (namespace: string) => void;
  clock: Clock;
  log: Logger;
  registry: Registry;
}

/** Starts functions in generic pods when they are scaled up from zero, and ends these pods (decision 0098). */
export interface WarmStarts {
  start(): void;
  /** Waits for starts and deletions in progress. */
  stop(): Promise<void>;
}

export function createWarmStarts(options: WarmStartsOptions): WarmStarts {
  const { kube, functions, deployments, pods, call, onFailure, clock, log, registry } = options;
  const starts = new Counter({
    name: 'function_warm_starts_total',
    help: 'Starts of functions from zero for which a generic pod was looked for, by result.',
    labelNames: ['result'],
    registers: [registry],
  });
  const inProgress = new Set<Promise<void>>();
  /** The uids of pods that are being deleted. */
  const ending = new Set<string>();
  let subscriptions: (() => void)[] = [];
  let stopping = new AbortController();
  let sweeping: Promise<void> = Promise.resolve();

  const track = (work: Promise<void>, fields: object, message: string) => {
    const tracked = work
      .catch((error: unknown) => log.warn({ err: error, ...fields }, message))
      .finally(() => inProgress.delete(tracked));
    inProgress.add(tracked);
  };

  /** Takes a pod from its pool, and makes it one of the function. @returns undefined when all were taken */
  const take = async (
    resource: Stored<FunctionResource>,
    { spec: { template } }: FunctionDeployment,
    digest: string,
  ): Promise<Stored<Pod> | undefined> => {
    const { namespace = '', name, uid } = resource.metadata;
    const { apiVersion, kind } = kinds.Function;
    const owner = { apiVersion, kind, name, uid, controller: true };
    const { labels, annotations = {} } = template.metadata;
    for (const pod of pods.listIn(namespace).filter((pod) => isWaiting(pod, digest))) {
      const { resourceVersion, labels: generic = {} } = pod.metadata;
      // Also the one by which its ReplicaSet finds it.
      const removed = Object.fromEntries(Object.keys(generic).map((label) => [label, null]));
      const metadata = { resourceVersion, labels: { ...removed, ...labels }, annotations, ownerReferences: [owner] };
      try {
        return await kube.mergePatch<Pod>(refOf(pod), { metadata });
      } catch (error) {
        // Another function took it, or it ends.
        if (!isKubeError(error, 409) && !isKubeError(error, 404)) throw error;
      }
    }
    return undefined;
  };

  const sourcesOf = async (namespace: string, { code, envSecret, env }: WarmSources): Promise<WarmStart> => {
    const cached = kube.cache?.get<CodeConfigMap>(kinds.ConfigMap, code, namespace);
    const [map, secret] = await Promise.all([
      cached ?? kube.get<CodeConfigMap>(kinds.ConfigMap, code, namespace),
      envSecret === undefined ? undefined : kube.get<Secret>(kinds.Secret, envSecret, namespace),
    ]);
    if (!map) throw new Error('its code is missing');
    if (envSecret !== undefined && !secret) throw new Error('its variables are missing');
    const variables = Object.entries(secret?.data ?? {}).map(([name, value]): [string, string] => [
      name,
      Buffer.from(value, 'base64').toString(),
    ]);
    return { files: map.data ?? {}, env: { ...Object.fromEntries(variables), ...env }, drainSeconds };
  };

  const begin = async (deployment: Stored<FunctionDeployment>): Promise<void> => {
    const { name, namespace = '' } = deployment.metadata;
    const resource = functions.get(name, namespace);
    const template = resource && warmTemplateOf(resource, deployment);
    const sources = template && warmSources(deployment.spec.template);
    if (!sources || !deployments.get(warmPoolName(template.digest), namespace)) return;
    if (!pods.listIn(namespace).some((pod) => isWaiting(pod, template.digest))) {
      starts.inc({ result: 'missed' });
      return;
    }
    const reading = Promise.all([sourcesOf(namespace, sources), readToken(kube, namespace)]);
    // Handled below, unless there is no pod.
    reading.catch(() => undefined);
    const pod = await take(resource, deployment, template.digest).catch((error: unknown) => {
      starts.inc({ result: 'failed' });
      throw error;
    });
    if (!pod) {
      starts.inc({ result: 'missed' });
      return;
    }
    const fields = { namespace, function: name, pod: pod.metadata.name };
    try {
      const [input, token] = await reading;
      if (token === undefined) throw new Error('the token of the environment is missing');
      await call({ host: pod.status?.podIP ?? '', uid: pod.metadata.uid }, token, input);
      starts.inc({ result: 'started' });
      log.info(fields, 'function started in a generic pod');
    } catch (error) {
      starts.inc({ result: 'failed' });
      log.warn({ err: error, ...fields }, 'cannot start the function in a generic pod; its own pod starts');
      onFailure(namespace);
      await end(pod, 'failed');
    }
  };

  const end = async (pod: Stored<Pod>, reason: StandInEnd): Promise<void> => {
    const { uid } = pod.metadata;
    if (ending.has(uid)) return;
    ending.add(uid);
    try {
      const grace = reason === 'ready' ? { gracePeriodSeconds: graceSeconds } : {};
      await kube.delete(refOf(pod), { preconditions: { uid }, ...grace });
    } catch (error) {
      // It was deleted and another one has its name.
      if (!isKubeError(error, 409)) throw error;
    } finally {
      ending.delete(uid);
    }
  };

  /** Ends the pods that no longer stand in. */
  const check = (standIns: readonly Stored<Pod>[]) => {
    for (const pod of standIns) {
      const { namespace = '', name, labels } = pod.metadata;
      if (!isStandIn(pod) || pod.metadata.deletionTimestamp !== undefined) continue;
      const deployment = deployments.get(labels?.[appLabel] ?? '', namespace);
      const reason = standInEnd(pod, deployment);
      if (reason) track(end(pod, reason), { namespace, pod: name }, 'cannot delete a generic pod');
    }
  };

  /**
   * Ends pods that nothing else has ended, and generic ones that cannot be used: their pool replaces them. A pod that stands
   * in and is not ready in two sweeps was taken and never started, or is not faster than the function's own.
   */
  const sweep = async (signal: AbortSignal): Promise<void> => {
    let unready = new Set<string>();
    while (!signal.aborted) {
      const live = pods.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      check(live);
      const late = live.filter((pod) => isStandIn(pod) && !isPodReady(pod));
      const broken = live.filter((pod) => isGeneric(pod) && isBroken(pod, clock.now()));
      for (const pod of [...broken, ...late.filter(({ metadata }) => unready.has(metadata.uid))]) {
        const { namespace, name } = pod.metadata;
        track(end(pod, 'failed'), { namespace, pod: name }, 'cannot delete a generic pod');
      }
      unready = new Set(late.map(({ metadata }) => metadata.uid));
      await clock.sleep(sweepMs, signal).catch(() => undefined);
    }
  };

  return {
    start() {
      stopping = new AbortController();
      subscriptions = [
        deployments.onChange(({ type, object, previous }) => {
          const { name, namespace, labels = {} } = object.metadata;
          if (labels[kindLabel] !== 'Function') return;
          const isRaised = type === 'modified' && previous?.spec.replicas === 0 && object.spec.replicas > 0;
          if (isRaised)
            track(begin(object), { namespace, function: name }, 'cannot start the function in a generic pod');
          else check(pods.listLabeled(idLabel, labels[idLabel] ?? '', namespace));
        }),
        pods.onChange(({ object }) => check([object])),
      ];
      sweeping = sweep(stopping.signal);
    },
    async stop() {
      for (const unsubscribe of subscriptions) unsubscribe();
      stopping.abort();
      await sweeping;
      await Promise.all(inProgress);
    },
  };
}

function isGeneric({ metadata }: Stored<Pod>): boolean {
  return metadata.labels?.[warmLabel] !== undefined;
}

function isRunning(pod: Stored<Pod>): boolean {
  return isPodLive(pod) && isContainerRunning(pod, functionContainer) && pod.status?.podIP !== undefined;
}

/** Whether a function can be started in this generic pod. After a restart, nobody could tell it from one that was used. */
function isWaiting(pod: Stored<Pod>, digest: string): boolean {
  return pod.metadata.labels?.[warmLabel] === digest && isRunning(pod) && restartsOf(pod) === 0;
}
