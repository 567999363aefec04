import type { JobSpec } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Volume, VolumeMount } from '../../runtime/contracts/resources/volume.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkBytes, checkCpu } from '../../runtime/domain/quantity.ts';
import { checkTimeZone, parseSchedule } from '../../runtime/domain/schedule.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

type Checked = { [Field in 'image' | 'env' | 'memory' | 'cpu' | 'schedule' | 'timeZone']?: JobSpec[Field] | undefined };

/** What a schema cannot say of a job's settings. @throws Problem `invalid_value` */
export function checkJob({ image, env = [], memory, cpu, schedule, timeZone }: Checked): void {
  if (image !== undefined) checkImage(image);
  if (memory !== undefined) checkBytes(memory, 'memory', { min: '4Mi' });
  if (cpu !== undefined) checkCpu(cpu);
  if (schedule !== undefined) parseSchedule(schedule);
  if (timeZone !== undefined) checkTimeZone(timeZone);
  const wrong = env.find(({ name }) => !/^[A-Za-z_][A-Za-z0-9_]{0,252}$/.test(name));
  if (wrong) {
    throw refusal('env', `"${wrong.name}" is not a usable variable name: use letters, digits and underscores.`);
  }
}

/** Checks that volumes exist, and where they are mounted. @throws Problem `invalid_value` */
export async function checkMounts(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  mounts: readonly VolumeMount[],
): Promise<void> {
  const paths = new Set<string>();
  for (const { name, path } of mounts) {
    if (!/^\/[^:]+$/.test(path) || path.split('/').includes('..')) {
      throw refusal('volumes', `"${path}" is no path to mount a volume at: give an absolute one, such as /data.`);
    }
    if (paths.has(path)) throw refusal('volumes', `Two volumes are to be mounted at ${path}.`);
    paths.add(path);
    const volume = await kube.get<Volume>(kinds.Volume, name, namespace);
    if (volume?.metadata.deletionTimestamp === undefined && volume) continue;
    throw refusal('volumes', `There is no volume "${name}" in this environment; create it with \`svc volume create\`.`);
  }
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
