import { systemClock } from '../../../runtime/domain/clock.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { runningPlatform, uniqueName } from '../../support/platform.ts';
import { ask, createSubject, type Subject } from '../cold-start/subject.ts';
import { residentBytes } from '../controllers/process-metrics.ts';
import { createProject, createWorkloads, removeProject, watchObjects } from '../controllers/workloads.ts';
import { median, printFigure } from '../figure.ts';

const warmRequests = 500;
const say = (line: string) => process.stderr.write(`${line}\n`);

/**
 * Many functions at zero, of which many are woken at once through the ingress of a running platform: how many of the
 * requests are answered, and when; and what the many cost the interceptor, in memory and in the time of a request to a
 * warm function.
 */
export async function measureManyAtZero({ functions, woken }: { functions: number; woken: number }): Promise<void> {
  const platform = await runningPlatform();
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  const project = uniqueName('bench');
  try {
    // No limit of the environment is what is measured.
    await createProject(kube, project, { cpu: '64', memory: '128Gi', pods: 800 });
    const subject = await createSubject(platform, kube, project);
    try {
      const few = await interceptorOf(kube, subject);
      await createFunctions(kube, project, functions);
      const many = await interceptorOf(kube, subject);
      report('with-few', few);
      report('with-many', many);
      await wake(subject, project, { functions, woken });
    } finally {
      await subject.pods.stop();
    }
  } finally {
    await removeProject(kube, project);
    await kube.close();
  }
}

interface InterceptorFigures {
  megabytes: number;
  warmMs: number;
}

async function interceptorOf(kube: KubeClient, { ingress, url }: Subject): Promise<InterceptorFigures> {
  const times: number[] = [];
  for (let request = 0; request < warmRequests; request++) {
    const startedAt = performance.now();
    await ask(ingress.hostname, Number(ingress.port), url.host);
    times.push(performance.now() - startedAt);
  }
  return { megabytes: (await residentBytes(kube, 'svc-interceptor')) / 2 ** 20, warmMs: median(times) };
}

function report(when: string, { megabytes, warmMs }: InterceptorFigures): void {
  printFigure({ name: `functions.many-at-zero.interceptor-memory.${when}`, value: megabytes, unit: 'MB' });
  printFigure({ name: `functions.many-at-zero.warm-request.${when}`, value: warmMs, unit: 'ms' });
}

/** Creates the functions, and waits until each has its route. */
async function createFunctions(kube: KubeClient, project: string, count: number): Promise<void> {
  const watched = await watchObjects(kube, `${project}-prod`);
  try {
    await createWorkloads(kube, project, { functions: count, apps: 0 });
    for (let seconds = 0; ; seconds += 5) {
      const missing = watched.missing({ functions: count, apps: 0 });
      if (missing.length === 0) return;
      say(`${seconds} s: ${missing.join(', ')}`);
      await systemClock.sleep(5_000);
    }
  } finally {
    await watched.stop();
  }
}

/** Sends one request to each of the functions, all at once. */
async function wake(
  { ingress, name, url }: Subject,
  project: string,
  { functions, woken }: { functions: number; woken: number },
): Promise<void> {
  const every = Math.floor(functions / woken);
  const hosts = Array.from({ length: woken }, (_, number) => url.host.replace(name, `${project}-f${number * every}`));
  const startedAt = performance.now();
  const answers = await Promise.all(
    hosts.map(async (host) => {
      const answer = await ask(ingress.hostname, Number(ingress.port), host).catch(() => undefined);
      return { isAnswered: answer?.status === 200, seconds: (performance.now() - startedAt) / 1_000 };
    }),
  );
  const seconds = answers.map((answer) => (answer.isAnswered ? answer.seconds : Infinity));
  const lost = answers.filter(({ isAnswered }) => !isAnswered).length;
  printFigure({ name: 'functions.many-at-zero.woken', value: woken, unit: 'functions' });
  printFigure({
    name: 'functions.many-at-zero.lost',
    value: lost,
    unit: 'requests',
    target: { operator: '<=', value: 0 },
  });
  printFigure({ name: 'functions.many-at-zero.answer', value: median(seconds), unit: 's' });
  const slowest = { name: 'functions.many-at-zero.slowest-answer', value: Math.max(...seconds), unit: 's' };
  printFigure({ ...slowest, target: { operator: '<', value: 15 } });
}
