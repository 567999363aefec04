import { createInterface } from 'node:readline';
import { jobSpec } from '../../runtime/contracts/resources/job.ts';
import { workloadResources } from '../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { createObject, newObjectMetadata } from '../../runtime/workloads/create.ts';
import type { WorkloadObject } from '../../runtime/workloads/objects.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';

/**
 * One process that races for a name: `node name-racer.ts <kubeconfig> <namespace> <name> <racers>` prints `ready`,
 * starts at a line on stdin, and prints a JSON array with one entry per racer: `won <Kind>` or the error code.
 */
const [, , kubeconfig = '', namespace = '', name = '', racers = '1'] = process.argv;
const kube = createKubeClient(loadKubeConfig(kubeconfig));
const environment = { project: 'race', environment: 'prod', environmentId: newId(), namespace, ready: true };
const specs = {
  App: { image: 'registry.test/x:1', port: 8080, replicas: 0 },
  Function: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
  Job: jobSpec.parse({ image: 'registry.test/x:1' }),
} as const;

async function race(number: number): Promise<string> {
  const kind = (['App', 'Function', 'Job'] as const)[number % 3] ?? 'App';
  const { apiVersion } = workloadResources[kind];
  const metadata = newObjectMetadata(kind, name, environment);
  const object = { apiVersion, kind, metadata, spec: specs[kind] } as unknown as WorkloadObject;
  try {
    await createObject(kube, object, { environment, asker: environment });
    return `won ${kind}`;
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

// Connects before the start, so that connecting is not part of the race.
await kube.list(workloadResources.App, { namespace });
process.stdout.write('ready\n');
const input = createInterface({ input: process.stdin });
await new Promise<void>((resolve) => input.once('line', () => resolve()));
input.close();
const results = await Promise.all(Array.from({ length: Number(racers) }, (_, number) => race(number + process.pid)));
process.stdout.write(`${JSON.stringify(results)}\n`);
await kube.close();
