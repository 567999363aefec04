import { spawn } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { runningPlatform, uniqueName, type Platform } from '../../support/platform.ts';
import { median, printFigure } from '../figure.ts';

const rounds = 10;
/** Rows and their size: an answer of 200 MB. */
const answer = { rows: 2_000, rowBytes: 100_000 };

/**
 * Commands in pods and forwarded ports: the time from the start of `svc app exec` to the first byte of the command's
 * output, with and without the start of `svc`, and the throughput of PostgreSQL through `svc port-forward` beside a client
 * that connects to the same server directly: both in each round, and the median of their ratios. Needs a running platform on
 * this machine.
 */
export async function run(): Promise<void> {
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  await platform.ok(['project', 'create', project, '--environment', 'prod']);
  const flags = ['--project', project, '--environment', 'prod'];
  try {
    await platform.ok(['service', 'create', 'orders', '--type', 'postgres', ...flags]);
    await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
    await measureExec(platform, flags);
    await measureForward(platform, flags, `${project}-prod`);
  } finally {
    await platform.ok(['project', 'delete', project, '--yes', '--no-wait']);
  }
}

function start(platform: Platform, args: string[]) {
  const env = { ...process.env, XDG_CONFIG_HOME: platform.configFolder, SVC_API: platform.info.api };
  return spawn(process.execPath, ['cli/svc.js', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function measureExec(platform: Platform, flags: string[]): Promise<void> {
  const firstByte = async (args: string[]) => {
    const from = performance.now();
    const child = start(platform, args);
    await once(child.stdout, 'data');
    const ms = performance.now() - from;
    if (child.exitCode === null) await once(child, 'exit');
    return ms;
  };
  const series = async (args: string[]) => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await firstByte(args));
    return median(times);
  };
  const whole = await series(['app', 'exec', 'api', ...flags, '--', 'echo', 'x']);
  const command = await series(['app', 'exec', '--help']);
  const target = { operator: '<', value: 300 } as const;
  printFigure({ name: 'first-day.exec-first-byte', value: whole - command, unit: 'ms', target });
  printFigure({ name: 'first-day.exec-first-byte.with-svc', value: whole, unit: 'ms' });
}

async function measureForward(platform: Platform, flags: string[], namespace: string): Promise<void> {
  const credentials = await platform.json<{ username: string; password: string; database: string }>([
    'service',
    'credentials',
    'orders',
    ...flags,
  ]);
  const pod = JSON.parse((await platform.kubectl('get', 'pod', 'orders-0', '-n', namespace, '-o', 'json')).stdout) as {
    status: { podIP: string };
    spec: { containers: { ports: { containerPort: number }[] }[] };
  };
  const directPort = pod.spec.containers[0]?.ports[0]?.containerPort ?? 0;
  const forward = start(platform, ['port-forward', 'service/orders', '0:5432', ...flags]);
  try {
    const [line] = (await once(forward.stderr, 'data')) as [Buffer];
    const forwardedPort = Number(/127\.0\.0\.1:(\d+)/.exec(line.toString())?.[1]);
    const throughput = async (host: string, port: number) => {
      const { username: user, password, database } = credentials;
      const client = new pg.Client({ host, port, user, password, database });
      await client.connect();
      const from = performance.now();
      await client.query(`SELECT repeat('x', ${answer.rowBytes}) FROM generate_series(1, ${answer.rows})`);
      const seconds = (performance.now() - from) / 1000;
      await client.end();
      return (answer.rows * answer.rowBytes) / 1_000_000 / seconds;
    };
    const ways = {
      direct: () => throughput(pod.status.podIP, directPort),
      forwarded: () => throughput('127.0.0.1', forwardedPort),
    };
    // The first answer of each way compiles code.
    for (const way of Object.values(ways)) await way();
    const measured: Record<keyof typeof ways, number>[] = [];
    for (let round = 0; round < rounds; round++) {
      // In turns, because what else the machine does changes from second to second.
      const order = round % 2 === 0 ? (['direct', 'forwarded'] as const) : (['forwarded', 'direct'] as const);
      const result = { direct: 0, forwarded: 0 };
      for (const way of order) result[way] = await ways[way]();
      measured.push(result);
    }
    const ratios = measured.map((round) => round.forwarded / round.direct);
    const name = 'first-day.port-forward-throughput';
    const target = { operator: '>=', value: 0.5 } as const;
    printFigure({ name, value: median(ratios), unit: 'ratio', target });
    printFigure({ name: `${name}.lowest`, value: Math.min(...ratios), unit: 'ratio' });
    for (const way of ['direct', 'forwarded'] as const) {
      printFigure({ name: `${name}.${way}`, value: median(measured.map((round) => round[way])), unit: 'MB/s' });
    }
  } finally {
    forward.kill();
  }
}
