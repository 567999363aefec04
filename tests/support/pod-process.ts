import { eventually, type Platform } from './platform.ts';

const namespace = 'svc-system';

/** In a pod of the platform; its parent is the container's init. */
const theProcess = '$(cat /proc/1/task/1/children)';

/**
 * Sends a signal to the process in a pod of the platform, after a moment: whoever is in a container that is killed may
 * not live to tell that it was done.
 * @param pod a pod's name, or `deploy/` and a Deployment's for any of its pods
 */
export async function signalProcess(platform: Platform, pod: string, signal: 'STOP' | 'KILL'): Promise<void> {
  await inPod(platform, pod, `(sleep 0.5; kill -${signal} $process) >/dev/null 2>&1 &`);
}

/** Stops the process in a pod of the platform for so long. How long kubectl takes makes it no longer. */
export async function pauseProcess(platform: Platform, pod: string, seconds: number): Promise<void> {
  await inPod(platform, pod, `kill -STOP $process; sleep ${seconds}; kill -CONT $process`);
}

async function inPod(platform: Platform, pod: string, command: string): Promise<void> {
  const script = `process=${theProcess}; ${command}`;
  await eventually(
    () => platform.kubectl('-n', namespace, 'exec', pod, '--', 'sh', '-c', script),
    ({ code }) => code === 0,
  );
}
