import { eventually, type Platform } from './platform.ts';
import type { Teardown } from './target/target-types.ts';

const namespace = 'svc-system';

/**
 * Scales a Deployment of the platform up to at least `replicas` and resolves when they are ready. Restores the previous
 * number when the test ends.
 */
export async function scaled(t: Teardown, platform: Platform, name: string, replicas: number): Promise<void> {
  const readReplicas = async () => {
    const { stdout } = await eventually(
      () => platform.kubectl('-n', namespace, 'get', 'deployment', name, '-o', 'json'),
      ({ code }) => code === 0,
    );
    return JSON.parse(stdout) as { spec: { replicas: number }; status: { readyReplicas?: number } };
  };
  const scale = (count: number) =>
    eventually(
      () => platform.kubectl('-n', namespace, 'scale', `deploy/${name}`, `--replicas=${count}`),
      ({ code }) => code === 0,
    );
  const before = (await readReplicas()).spec.replicas;
  if (before < replicas) {
    t.teardown(() => scale(before));
    await scale(replicas);
  }
  await eventually(readReplicas, ({ status }) => (status.readyReplicas ?? 0) >= replicas);
}

/** Restarts a Deployment of the platform; resolves before the new pods are ready. */
export async function restart(platform: Platform, name: string): Promise<void> {
  const annotations = { 'svc.test/restarted-at': new Date().toISOString() };
  const patch = JSON.stringify({ spec: { template: { metadata: { annotations } } } });
  await eventually(
    () => platform.kubectl('-n', namespace, 'patch', 'deployment', name, '--type=merge', '-p', patch),
    ({ code }) => code === 0,
  );
}

/**
 * Restarts a Deployment of the platform and resolves when only new pods are left. Old ones drain first, and connections of
 * some clients still lead to them.
 */
export async function replacePods(platform: Platform, name: string): Promise<void> {
  const pods = async () => {
    const { stdout } = await platform.kubectl('-n', namespace, 'get', 'pods', '-l', `app=${name}`, '-o', 'name');
    return stdout.split('\n').filter((pod) => pod !== '');
  };
  const old = await pods();
  await restart(platform, name);
  await eventually(pods, (left) => left.length > 0 && left.every((pod) => !old.includes(pod)));
}
