import { join } from 'node:path';
import { host } from '../../gate/interceptor/world.ts';
import { median, printFigure } from '../figure.ts';
import { isMachineFree, leaveServerCore, serverCore } from '../gate/cores.ts';
import { startLoad } from '../gate/load-client.ts';
import { rounds, throughput } from '../gate/rounds.ts';
import { startBareServer, startListening, type MeasuredServer } from '../gate/servers.ts';

const runtimeProgram = join(import.meta.dirname, '../../../infra/images/function-node/server.mjs');
const handlerFile = join(import.meta.dirname, 'handler.mjs');
const lightPod = join(import.meta.dirname, 'light-pod.ts');
const interceptorProgram = join(import.meta.dirname, 'interceptor-process.ts');
const proxyProgram = join(import.meta.dirname, 'plain-proxy.ts');
const connections = 32;

/**
 * The warm path: a function's pod (the Node runtime with a handler that does nothing), alone on the first core and
 * called directly, compared with the interceptor alone on that core. The server behind the interceptor shares the
 * second core with the load and does almost nothing, so that this core is not the limit. Yardsticks are a bare
 * `node:http` server called directly, and a plain proxy in the interceptor's place. Rounds alternate, and the median of
 * the rounds' ratios counts; the added latency is relative to the bare server's.
 */
export async function measureWarm(options: { rounds: number; seconds: number }): Promise<void> {
  leaveServerCore();
  if (!(await isMachineFree('functions'))) return;
  const servers: MeasuredServer[] = [];
  const started = async (server: Promise<MeasuredServer>) => {
    const running = await server;
    servers.push(running);
    return running;
  };
  const load = startLoad();
  try {
    const pod = await started(startListening(runtimeProgram, { SVC_CODE_FILE: handlerFile }, serverCore));
    const bare = await started(startBareServer());
    const behind = await started(startListening(lightPod, {}, undefined));
    const env = { POD_PORT: String(behind.port) };
    const interceptor = await started(startListening(interceptorProgram, env, serverCore));
    const proxy = await started(startListening(proxyProgram, env, serverCore));
    const measured = { pod, bare, interceptor, proxy };
    for (const [name, server] of Object.entries(measured)) {
      const prepared = { host: server.host, port: server.port, name: host, path: '/orders?limit=20', keys: ['none'] };
      await load.prepare(name, prepared);
    }
    const settings = {
      name: 'functions',
      connections,
      busyMin: 0.9,
      ...options,
      pids: { pod: pod.pid, bare: bare.pid, interceptor: interceptor.pid, proxy: proxy.pid },
    };
    const { rate, compare } = await throughput(load, Object.keys(measured), settings);
    compare('proxy', 'pod', 'plain-proxy-to-direct');
    compare('interceptor', 'bare', 'warm-to-bare-server');
    compare('interceptor', 'pod', 'warm-to-direct', { operator: '>=', value: 0.4 });

    const offered = Math.round(rate('interceptor') / 2);
    const paced = await rounds(load, ['bare', 'interceptor'], { ...settings, rate: offered });
    const p50 = (target: string) => median((paced.get(target) ?? []).map((round) => round.p50));
    printFigure({ name: 'functions.offered', value: offered, unit: 'req/s' });
    printFigure({ name: 'functions.p50.bare', value: p50('bare'), unit: 'ms' });
    printFigure({ name: 'functions.p50.interceptor', value: p50('interceptor'), unit: 'ms' });
    printFigure({
      name: 'functions.p50-added',
      value: p50('interceptor') - p50('bare'),
      unit: 'ms',
      target: { operator: '<', value: 1 },
    });
  } finally {
    load.stop();
    for (const server of servers) await server.stop();
  }
}
