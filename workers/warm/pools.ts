import type { V1ResourceQuota } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import type { FunctionDeployment } from '../../infra/manifests/function.ts';
import { warmPool, warmPoolName, type WarmTemplate } from '../../infra/manifests/warm-pool.ts';
import type { BuiltIn, KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, type Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { environmentIdLabel, kindLabel, warmLabel } from '../../runtime/domain/labels.ts';
import { applyObject, deleteChild, refOf } from '../../runtime/kube/children.ts';
import type { Change, Informer } from '../../runtime/kube/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { hasRoom, poolsOf } from './pool-size.ts';
import { deleteToken, digestOfToken, ensureToken, readToken } from './token.ts';
import { warmTemplateOf } from './warmable.ts';

/** Changes of an environment are collected for this long. */
const settleMs = 1_000;
/** After a failure, an environment is adjusted again this much later. */
const retryMs = 15_000;
/** The token of an environment is read again after this time, because the platform may not watch Secrets. */
const tokenMs = 300_000;

export type Quota = BuiltIn<V1ResourceQuota, 'spec'>;

export interface WarmPoolsOptions {
  kube: Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete' | 'cache'>;
  namespaces: Pick<Informer<KubeObject>, 'get' | 'list'>;
  functions: Pick<Informer<FunctionResource>, 'get' | 'onChange'>;
  /** The platform's Deployment objects, of functions and pools among others. */
  deployments: Pick<Informer<FunctionDeployment>, 'listIn' | 'onChange'>;
  pods: Pick<Informer<Pod>, 'listIn'>;
  quotas: Pick<Informer<Quota>, 'listIn' | 'onChange'>;
  /** The number of pods of a pool; undefined while the settings are unknown. */
  size: () => number | undefined;
  clock: Clock;
  log: Logger;
}

/** Keeps the pools of generic pods as the functions of each environment need them (decision 0098). */
export interface WarmPools {
  start(): void;
  stop(): Promise<void>;
  /** Adjusts the pools of one environment; writes nothing when they are as they should be. */
  adjust(namespace: string): Promise<void>;
  /** Reads the token of an environment again, and adjusts its pools to it: a start in one of its pods failed. */
  recheck(namespace: string): void;
}

export function createWarmPools(options: WarmPoolsOptions): WarmPools {
  const { kube, namespaces, functions, deployments, pods, quotas, size, clock, log } = options;
  /** When each environment is due, on the monotonic clock. */
  const dueAt = new Map<string, number>();
  /** What each environment's pods know of its token, and when that was read; the oldest first. */
  const tokens = new Map<string, { digest: string; readAt: number }>();
  let subscriptions: (() => void)[] = [];
  let stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const tokenDigestOf = async (namespace: string): Promise<string> => {
    const current = tokens.get(namespace);
    if (current) return current.digest;
    const digest = digestOfToken(await ensureToken(kube, namespace));
    tokens.set(namespace, { digest, readAt: clock.monotonic() });
    return digest;
  };

  const templateOf = (deployment: Stored<FunctionDeployment>): WarmTemplate | undefined => {
    const { name, namespace, labels } = deployment.metadata;
    const resource = labels?.[kindLabel] === 'Function' ? functions.get(name, namespace) : undefined;
    return resource && warmTemplateOf(resource, deployment);
  };

  const adjust = async (namespace: string): Promise<void> => {
    const environment = namespaces.get(namespace);
    const replicas = size();
    if (replicas === undefined || environment?.metadata.labels?.[environmentIdLabel] === undefined) return;
    if (environment.metadata.deletionTimestamp !== undefined) return;
    const objects = deployments.listIn(namespace);
    const existing = objects.filter(({ metadata }) => metadata.labels?.[warmLabel] !== undefined);
    // Without pools, a change of one function must not cost a template of each of thousands.
    const desired = replicas === 0 ? [] : poolsOf(objects.flatMap((deployment) => templateOf(deployment) ?? []));
    const names = new Set(desired.map(({ digest }) => warmPoolName(digest)));
    for (const pool of existing) {
      if (!names.has(pool.metadata.name)) await deleteChild(kube, undefined, refOf(pool));
    }
    if (desired.length === 0) {
      // Last, because a pool that stays needs it.
      if (existing.length > 0 || tokens.has(namespace)) await deleteToken(kube, namespace);
      tokens.delete(namespace);
      return;
    }
    const generic = pods.listIn(namespace).filter((pod) => isPodLive(pod) && pod.metadata.labels?.[warmLabel]);
    const all = desired.flatMap(({ spec }) => Array.from({ length: replicas }, () => spec));
    const rooms = quotas.listIn(namespace).map(({ status = {} }) => status);
    const hasPods = rooms.every((room) => hasRoom(room, { existing: generic.map(({ spec }) => spec), desired: all }));
    const tokenDigest = await tokenDigestOf(namespace);
    for (const template of desired) {
      const pool = warmPool(namespace, template, { replicas: hasPods ? replicas : 0, tokenDigest });
      await applyObject(kube, pool, { cached: true });
    }
  };

  const recheck = (namespace: string) => {
    tokens.delete(namespace);
    dueAt.set(namespace, clock.monotonic());
  };

  /** Reads a token again. Only another one has the pools adjusted, which looks at all functions of the environment. */
  const reread = async (namespace: string, digest: string): Promise<void> => {
    const token = await readToken(kube, namespace).catch(() => undefined);
    const isSame = token !== undefined && digestOfToken(token) === digest;
    if (!isSame || !tokens.delete(namespace)) recheck(namespace);
    else tokens.set(namespace, { digest, readAt: clock.monotonic() });
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    let adjustedTo: number | undefined;
    while (!signal.aborted) {
      const now = clock.monotonic();
      if (adjustedTo !== size()) for (const { metadata } of namespaces.list()) dueAt.set(metadata.name, now);
      adjustedTo = size();
      // One at a time, so that the reads of many environments are spread.
      const [oldest] = tokens;
      if (oldest && now - oldest[1].readAt >= tokenMs) await reread(oldest[0], oldest[1].digest);
      for (const [namespace, at] of [...dueAt]) {
        if (signal.aborted) return;
        if (at > now) continue;
        dueAt.delete(namespace);
        await adjust(namespace).catch((error: unknown) => {
          dueAt.set(namespace, clock.monotonic() + retryMs);
          log.warn({ err: error, namespace }, 'cannot adjust the generic pods; trying again');
        });
      }
      await clock.sleep(settleMs, signal).catch(() => undefined);
    }
  };

  const note = ({ type, object, previous }: Change<KubeObject>) => {
    const { namespace, generation } = object.metadata;
    // Functions and Deployment objects have a generation, which a change of their status leaves as it is.
    const isStatus = type === 'modified' && generation !== undefined && generation === previous?.metadata.generation;
    if (namespace !== undefined && !isStatus) dueAt.set(namespace, clock.monotonic());
  };

  return {
    start() {
      stopping = new AbortController();
      // Another process may have led meanwhile.
      tokens.clear();
      subscriptions = [functions.onChange(note), deployments.onChange(note), quotas.onChange(note)];
      running = run(stopping.signal);
    },
    async stop() {
      for (const unsubscribe of subscriptions) unsubscribe();
      stopping.abort();
      await running;
    },
    adjust,
    recheck,
  };
}
