import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { homeAt, homeFolder } from '../local/home.ts';
import { findSupervisor, stopSupervisor } from '../local/supervisor.ts';
import { upLocal } from '../local/up.ts';
import { down } from '../testcluster/cluster.ts';
import { upCluster } from '../testcluster/platform.ts';
import { lineProgress } from '../testcluster/progress.ts';
import { root } from './program.ts';
import { createTranscript } from './transcript.ts';
import { walkthrough } from './walkthrough.ts';

const help = `usage: npm start [-- options]

Starts the platform on this machine, without a cluster and without root, deploys an app, a gate and functions, calls each
of them and shows what happened, and stays up until Ctrl-C. What was made is there again at the next start.

options:
  --detach           end after the demo and leave everything running (npm run svc -- down ends it)
  --port PORT        port of the ingress (default 8080, or the next that is free)
  --cluster          the same on a real Kubernetes, which is built and started here (Linux, root, Go)
  --again            show everything once more; deletes the project "shop" first
  --transcript FILE  also write the demo's commands and their output to FILE, as Markdown
  --help             this text
`;

const { values } = parseArgs({
  options: {
    detach: { type: 'boolean', default: false },
    port: { type: 'string' },
    cluster: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    transcript: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) {
  process.stdout.write(help);
} else {
  // Waiting for a signal alone would not keep the process alive, and the channel to what it started would.
  const alive = setInterval(() => undefined, 2 ** 30);
  process.exitCode = await demo();
  clearInterval(alive);
}

async function demo(): Promise<number> {
  const started = performance.now();
  const log = (line: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(4);
    process.stderr.write(`[${seconds} s] ${line}\n`);
  };
  const folder = values.cluster ? (process.env['SVC_HOME'] ?? join(root, '.svc')) : homeFolder(process.env);
  const home = homeAt(folder);
  const takeDown = async () => {
    if (values.cluster) await down({ progress: lineProgress(log) });
    else await stopSupervisor(home);
  };
  const stopped = stopSignal();
  const foundRunning = !values.cluster && findSupervisor(home) !== undefined;
  const work = async () => {
    const info = values.cluster
      ? await upCluster({ folder, log })
      : await upLocal({ folder, attached: !values.detach, log, ...(values.port && { port: Number(values.port) }) });
    mkdirSync(join(folder, 'demo'), { recursive: true });
    const transcript = createTranscript({ info, home: folder, print: (text) => process.stdout.write(text) });
    const again = values.again || values.transcript !== undefined;
    const shown = await walkthrough(transcript, info, join(folder, 'demo'), { again });
    if (!shown)
      log('what the first start showed is still there; npm start -- --again shows it once more, from nothing');
    if (values.transcript) writeFileSync(values.transcript, transcript.markdown());
    process.stdout.write(`
The platform is up.
  management API   ${info.api}
  apps and functions below  *.${info.appsDomain}:${new URL(info.api).port}
  signed in as     ${info.adminEmail} (the password is in ${info.adminPasswordFile})
  kubeconfig       ${info.kubeconfig}
  command line     npm run svc -- --help
`);
  };
  try {
    const early = await Promise.race([work(), stopped]);
    if (early === undefined && (values.detach || foundRunning)) return 0;
    if (early === undefined) process.stdout.write('Ctrl-C ends it; what was made is kept.\n');
    log(`${early ?? (await stopped)}: ending everything`);
    await takeDown();
    return 0;
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
    if (!values.detach && !foundRunning) await takeDown();
    return 1;
  }
}

/** Resolves to the name of the first signal that asks for the end. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, resolve);
  });
}
