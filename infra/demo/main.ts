import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { homeAt, homeFolder } from '../local/home.ts';
import { findSupervisor } from '../local/supervisor-record.ts';
import { stopSupervisor } from '../local/supervisor.ts';
import { upLocal } from '../local/up.ts';
import { down } from '../testcluster/cluster.ts';
import { upCluster } from '../testcluster/platform.ts';
import { lineProgress } from '../testcluster/progress.ts';
import { root } from './program.ts';
import { createTranscript } from './transcript.ts';
import { walkthrough } from './walkthrough.ts';

const help = `usage: npm start [-- options]

Starts the platform on this machine, without a cluster and without root. Then shows how to deploy an app, protect it with
an API key, deploy by webhook and run functions: each step with its command and its output. Runs until Ctrl-C. Your data
is kept for the next start.

options:
  --detach           exit after the demo; the platform keeps running (stop it with: npm run svc -- down)
  --port PORT        port of the ingress (default 8080, or the next free port)
  --cluster          build and start a real Kubernetes for the demo (needs Linux, root and Go)
  --again            delete the project "shop" and run the demo again
  --transcript FILE  run the demo again and write its commands and output to FILE, as Markdown
  --help             show this help
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
  // Waiting for a signal does not keep the process alive.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  process.exitCode = await demo();
  clearInterval(keepAlive);
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
  const wasRunning = !values.cluster && findSupervisor(home) !== undefined;
  const work = async () => {
    const info = values.cluster
      ? await upCluster({ folder, log })
      : await upLocal({ folder, attached: !values.detach, log, ...(values.port && { port: Number(values.port) }) });
    mkdirSync(join(folder, 'demo'), { recursive: true });
    const transcript = createTranscript({ info, home: folder, print: (text) => process.stdout.write(text) });
    const again = values.again || values.transcript !== undefined;
    const completed = await walkthrough(transcript, info, join(folder, 'demo'), { again });
    if (!completed)
      log('the demo has already run and its project "shop" still exists; run it again with: npm start -- --again');
    if (values.transcript) writeFileSync(values.transcript, transcript.markdown());
    process.stdout.write(`
The platform is running.

  Web console          ${info.api}
  Management API       ${info.api}
  Apps and functions   *.${info.appsDomain}:${new URL(info.api).port}
  Platform admin       ${info.adminEmail} (password in ${info.adminPasswordFile})
  kubectl              --kubeconfig ${info.kubeconfig}

Next: npm run svc -- login --api ${info.api} --email ${info.adminEmail} --password-file ${info.adminPasswordFile}
Help: npm run svc -- --help
`);
  };
  try {
    const signal = await Promise.race([work(), stopped]);
    if (signal === undefined && (values.detach || wasRunning)) return 0;
    if (signal === undefined) process.stdout.write('Press Ctrl-C to stop it. Your data is kept.\n');
    log(`${signal ?? (await stopped)}: stopping the platform`);
    await takeDown();
    return 0;
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
    if (!values.detach && !wasRunning) await takeDown();
    return 1;
  }
}

/** Resolves to the name of the first signal that stops the demo. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, resolve);
  });
}
