import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { host } from '../gate/interceptor/world.ts';
import { run as runColdStart } from './cold-start.ts';
import { median, printFigure } from './figure.ts';
import { leaveServerCore, othersShare, serverCore } from './gate/cores.ts';
import { startLoad } from './gate/load-client.ts';
import { rounds, throughput } from './gate/rounds.ts';
import { startBareServer, startListening, type MeasuredServer } from './gate/servers.ts';

const interceptorProgram = join(import.meta.dirname, 'functions/interceptor-process.ts');
const connections = 32;

/**
 * Functions: the warm path, and cold starts where a platform runs (`SVC_HOME`; see `cold-start`).
 *
 * Warm: a pod (a bare `node:http` server) that is alone on the first core and asked directly, beside the interceptor alone
 * on that core with its pod and the load on the second. In rounds by turns, judged by the median of the rounds' ratios.
 * `--rounds <n>` of `--seconds <n>` each, and `--pairs <n>` of cold starts.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '9' },
      seconds: { type: 'string', default: '3' },
      pairs: { type: 'string', default: '30' },
    },
  });
  if (process.env['SVC_HOME'] !== undefined) await runColdStart(['--pairs', values.pairs]);
  leaveServerCore();
  printFigure({ name: 'functions.machine-used-by-others', value: await othersShare(), unit: 'ratio' });
  const servers: MeasuredServer[] = [];
  const started = async (server: Promise<MeasuredServer>) => {
    const running = await server;
    servers.push(running);
    return running;
  };
  const load = startLoad();
  try {
    const direct = await started(startBareServer());
    const pod = await started(startBareServer(undefined));
    const env = { POD_PORT: String(pod.port) };
    const interceptor = await started(startListening(interceptorProgram, env, serverCore));
    const prepared = { name: host, path: '/orders?limit=20', keys: ['none'] };
    await load.prepare('pod', { ...prepared, host: direct.host, port: direct.port });
    await load.prepare('interceptor', { ...prepared, host: interceptor.host, port: interceptor.port });
    const options = {
      ...{ name: 'functions', rounds: Number(values.rounds), seconds: Number(values.seconds), connections },
      pids: { pod: direct.pid, interceptor: interceptor.pid },
    };
    const { rate, compare } = await throughput(load, ['pod', 'interceptor'], options);
    compare('interceptor', 'pod', 'warm-to-direct', { operator: '>=', value: 0.4 });

    const offered = Math.round(rate('interceptor') / 2);
    const paced = await rounds(load, ['pod', 'interceptor'], { ...options, rate: offered });
    const p50 = (target: string) => median((paced.get(target) ?? []).map((round) => round.p50));
    printFigure({ name: 'functions.offered', value: offered, unit: 'req/s' });
    printFigure({ name: 'functions.p50.pod', value: p50('pod'), unit: 'ms' });
    printFigure({ name: 'functions.p50.interceptor', value: p50('interceptor'), unit: 'ms' });
    printFigure({
      ...{ name: 'functions.p50-added', value: p50('interceptor') - p50('pod'), unit: 'ms' },
      target: { operator: '<', value: 1 },
    });
  } finally {
    load.stop();
    for (const server of servers) await server.stop();
  }
}
