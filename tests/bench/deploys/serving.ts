import { setTimeout as wait } from 'node:timers/promises';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Platform } from '../../support/platform.ts';
import { createCaller, enableWebhook } from './callers.ts';

/** From the request for a version until its new pod serves, in ms, both ways. */
export interface Pair {
  platform: number;
  kubectl: number;
}

const image = (version: string) => `localhost:5000/svc/hello:${version}`;

/**
 * Measures pairs: a webhook until the new version answers through the ingress, and `kubectl patch` with `kubectl
 * rollout status` on a Deployment that differs only in its name. The order alternates. A merge patch replaces the
 * strategic one of `kubectl set image`, which the API server of the embedded cluster does not support.
 */
export async function servingPairs(
  platform: Platform,
  kube: KubeClient,
  project: string,
  count: number,
  say: (line: string) => void,
): Promise<Pair[]> {
  const namespace = `${project}-prod`;
  const flags = ['--project', project, '--environment', 'prod'];
  await platform.ok(['app', 'create', 'timed', '--image', image('v1'), ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'timed', ...flags]);
  while (!(await platform.request(url)).body.includes('v1')) await wait(100);
  const target = { app: 'timed', ...(await enableWebhook(platform, 'timed', flags)) };
  const caller = createCaller(platform.info.ingress, 1);
  const containers = await copyDeployment(kube, namespace, 'timed', 'plain');
  await kubectl(platform, ['-n', namespace, 'rollout', 'status', 'deployment/plain', '--timeout=5m']);

  /** An old pod may keep serving for a while, which would answer with the version too early, and slows both ways. */
  const oldPodsGone = async () => {
    while ((await kube.list(kinds.Pod, { namespace })).items.length > 2) await wait(50);
  };
  const throughPlatform = async (version: string): Promise<number> => {
    await oldPodsGone();
    const startedAt = performance.now();
    const { status } = await caller.deploy(target, image(version));
    if (status !== 202) throw new Error(`the webhook answered ${status}`);
    while (!(await platform.request(url)).body.includes(version)) await wait(10);
    const ms = performance.now() - startedAt;
    await platform.ok(['app', 'history', 'timed', '--wait', ...flags]);
    return ms;
  };
  const throughKubectl = async (version: string): Promise<number> => {
    await oldPodsGone();
    const startedAt = performance.now();
    const changed = containers.map((container) => ({ ...container, image: image(version) }));
    const patch = JSON.stringify({ spec: { template: { spec: { containers: changed } } } });
    await kubectl(platform, ['-n', namespace, 'patch', 'deployment', 'plain', '--type=merge', '-p', patch]);
    await kubectl(platform, ['-n', namespace, 'rollout', 'status', 'deployment/plain', '--timeout=5m']);
    return performance.now() - startedAt;
  };
  try {
    const pairs: Pair[] = [];
    for (let pair = 0; pair < count; pair++) {
      const version = pair % 2 === 0 ? 'v2' : 'v1';
      const first = pair % 2 === 0;
      const before = first ? await throughPlatform(version) : 0;
      const plain = await throughKubectl(version);
      const measured = { platform: first ? before : await throughPlatform(version), kubectl: plain };
      say(`pair ${pair + 1}: ${measured.platform.toFixed(0)} ms, kubectl ${measured.kubectl.toFixed(0)} ms`);
      pairs.push(measured);
    }
    return pairs;
  } finally {
    await caller.close();
  }
}

async function kubectl(platform: Platform, args: string[]): Promise<void> {
  const ended = await platform.kubectl(...args);
  if (ended.code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${ended.stderr}`);
}

/** Copies a Deployment without an owner, so that the platform ignores it. @returns its containers */
async function copyDeployment(kube: KubeClient, namespace: string, from: string, to: string): Promise<object[]> {
  interface Deployment extends KubeObject {
    spec: { selector: object; template: { metadata: { labels: object }; spec: { containers: object[] } } };
  }
  const source = await kube.get<Deployment>(kinds.Deployment, from, namespace);
  if (!source) throw new Error(`there is no Deployment ${from}`);
  const labels = { app: to };
  await kube.create({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: to, namespace, labels },
    spec: {
      ...source.spec,
      selector: { matchLabels: labels },
      template: { ...source.spec.template, metadata: { labels } },
    },
  });
  return source.spec.template.spec.containers;
}
