import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { isPodLive } from '../../../runtime/contracts/pod.ts';
import { runningPlatform, uniqueName } from '../../support/platform.ts';
import { createSubject, toZero, ask, type Subject } from '../cold-start/subject.ts';
import { printFigure } from '../figure.ts';
import { startLoad, type LoadClient } from '../gate/load-client.ts';

/** Few connections, so that the requests in flight alone need one pod; more than 5,000 requests per second pass. */
const connections = 8;
const seconds = 40;
/** In which the only pod serves everything: more pods share the machine with the load. */
const onePodSeconds = 2;

/**
 * How soon a function with one pod gets more for short requests at a high rate, through the ingress of a running
 * platform. The rate is what the machine reaches, which also makes the requests and runs the pods.
 */
export async function measureRateScaling(): Promise<void> {
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  const load = startLoad();
  try {
    await platform.ok(['project', 'create', project, '--environment', 'prod']);
    const subject = await createSubject(platform, kube, project);
    try {
      await measure(subject, load);
    } finally {
      await subject.pods.stop();
    }
  } finally {
    load.stop();
    await platform.ok(['project', 'delete', project, '--yes']);
    await kube.close();
  }
}

async function measure(subject: Subject, load: LoadClient): Promise<void> {
  const { ingress, url } = subject;
  await toZero(subject);
  await ask(ingress.hostname, Number(ingress.port), url.host);
  const target = { host: ingress.hostname, port: Number(ingress.port), name: url.host, path: '/', keys: ['none'] };
  await load.prepare('function', target);
  const readyPods = () => subject.pods.list().filter((pod) => isPodLive(pod) && pod.status?.phase === 'Running').length;
  const from = performance.now();
  let secondPod = Number.NaN;
  const unsubscribe = subject.pods.onChange(() => {
    if (Number.isNaN(secondPod) && readyPods() > 1) secondPod = (performance.now() - from) / 1_000;
  });
  const first = await load.run('function', { connections, warmUpSeconds: 0, seconds: onePodSeconds });
  const result = await load.run('function', { connections, warmUpSeconds: 0, seconds: seconds - onePodSeconds });
  unsubscribe();
  const reached = { operator: '<=', value: 15 } as const;
  printFigure({ name: 'functions.rate-scaling.one-pod', value: first.requestsPerSecond, unit: 'req/s' });
  printFigure({ name: 'functions.rate-scaling.requests', value: result.requestsPerSecond, unit: 'req/s' });
  printFigure({ name: 'functions.rate-scaling.second-pod', value: secondPod, unit: 's', target: reached });
  printFigure({ name: 'functions.rate-scaling.pods', value: readyPods(), unit: 'pods' });
}
