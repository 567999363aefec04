import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { down } from '../testcluster/cluster.ts';
import { lineProgress } from '../testcluster/progress.ts';
import { bringUp, svcHome } from './bring-up.ts';
import { createTranscript } from './transcript.ts';
import { walkthrough } from './walkthrough.ts';

const help = `usage: npm start [-- options]

Brings up a real Kubernetes on this machine with the platform on it, deploys an app, a gate and a function,
calls each of them and shows what happened, and stays up until Ctrl-C.

options:
  --detach           end after the demo and leave everything running (npm run testcluster -- down ends it)
  --transcript FILE  also write the demo's commands and their output to FILE, as Markdown
  --help             this text
`;

const { values } = parseArgs({
  options: {
    detach: { type: 'boolean', default: false },
    transcript: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) {
  process.stdout.write(help);
} else {
  await demo();
}

async function demo(): Promise<void> {
  const started = performance.now();
  const log = (line: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(4);
    process.stderr.write(`[${seconds} s] ${line}\n`);
  };
  const info = await bringUp({ log });
  const home = svcHome();
  mkdirSync(join(home, 'demo'), { recursive: true });
  const transcript = createTranscript({ info, home, print: (text) => process.stdout.write(text) });
  await walkthrough(transcript, info, join(home, 'demo'));
  if (values.transcript) writeFileSync(values.transcript, transcript.markdown());

  process.stdout.write(`
The platform is up.
  management API   ${info.api}
  apps and functions below  *.${info.appsDomain}:${new URL(info.api).port}
  signed in as     ${info.adminEmail} (the password is in ${info.adminPasswordFile})
  kubeconfig       ${info.kubeconfig}
  command line     npm run svc -- --help
`);
  if (values.detach) return;
  process.stdout.write('Ctrl-C takes it down.\n');
  const signal = await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM'), forever()]);
  log(`${String(signal)}: taking the cluster down`);
  await down({ progress: lineProgress(log) });
}

/** Waiting for a signal alone would not keep the process alive. */
function forever(): Promise<never> {
  return new Promise(() => setInterval(() => undefined, 2 ** 30));
}
