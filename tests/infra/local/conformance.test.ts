import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t from 'tap';
import { createApiServer } from '../../../infra/local/apiserver/server.ts';
import { createControllerManager } from '../../../infra/local/controllers/controller-manager.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { noCluster } from '../../support/kubernetes.ts';
import { silentLog } from '../../support/log.ts';
import { comparableAnswers, drive } from './conformance/answers.ts';
import { calls } from './conformance/calls.ts';
import { ownFolder } from '../../support/own-folder.ts';

/**
 * The real API server's answers (Kubernetes 1.34), so that the embedded one is compared with it on machines without a
 * cluster too. With `SVC_RECORD_CONFORMANCE=1` and a cluster they are recorded again; then run `npm run format`.
 */
const recordedFile = join(import.meta.dirname, 'conformance/recorded.json');
const recorded = (): Record<string, unknown> =>
  JSON.parse(readFileSync(recordedFile, 'utf8')) as Record<string, unknown>;

/** The garbage collector's input: the kinds of owners and dependents in the calls. */
const collected = [kinds.ConfigMap, kinds.Deployment, kinds.ReplicaSet, kinds.BatchJob, kinds.Pod];

async function answersOf(kubeconfig: string): Promise<Record<string, unknown>> {
  const namespace = `conf-${randomBytes(4).toString('hex')}`;
  return comparableAnswers(await drive(loadKubeConfig(kubeconfig), namespace, calls), calls, namespace);
}

t.test('the real API server answers as recorded', { skip: noCluster, timeout: 180_000 }, async (t) => {
  const answers = await answersOf(process.env['SVC_TEST_KUBECONFIG'] ?? '');
  if (process.env['SVC_RECORD_CONFORMANCE']) writeFileSync(recordedFile, `${JSON.stringify(answers, undefined, 1)}\n`);
  const expected = recorded();
  for (const { name } of calls) t.same(answers[name], expected[name], name);
});

t.test('the embedded API server answers as the real one', { timeout: 180_000 }, async (t) => {
  const server = createApiServer({ dataDir: ownFolder(t), clock: systemClock });
  await server.start();
  const kube = createKubeClient(loadKubeConfig(server.kubeconfig));
  const options = { kube, clock: systemClock, log: silentLog, registry: new Registry(), collected };
  const controllers = createControllerManager(options);
  t.teardown(async () => {
    await controllers.stop();
    await kube.close();
    await server.stop();
  });
  await controllers.start();
  const answers = await answersOf(server.kubeconfig);
  const expected = recorded();
  for (const { name } of calls) t.same(answers[name], expected[name], name);
});
