import { rm } from 'node:fs/promises';
import { homeAt, homeFolder } from '../../infra/local/home.ts';
import { readRunInfo } from '../../infra/run-info.ts';
import { findSupervisor, stopSupervisor } from '../../infra/local/supervisor.ts';
import { command } from '../command.ts';
import { yesFlag } from '../common-flags.ts';
import type { LocalPlatform } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount, choice, toggle } from '../flags.ts';
import { fields, outputFormats } from '../output.ts';
import { confirm } from '../prompt.ts';

const output = choice(outputFormats, 'how to print data (default table)', { short: 'o' });

export const upCommand = command({
  name: 'up',
  description: 'Start the platform on this machine, without a cluster; what was made before is there again.',
  flags: {
    port: amount('<port>', 'port of the ingress (default: that of the last time, 8080, or the next that is free)', {
      min: 1,
      max: 65_535,
    }),
    failpoints: toggle('let files in /failpoints kill the workers, for tests', { hidden: true }),
    output,
  },
  examples: ['svc up', 'svc up --port 9000'],
  async run({ context, flags }) {
    const { upLocal } = await import('../../infra/local/up.ts');
    const { port, failpoints } = flags;
    const folder = homeFolder(context.env);
    const info = await upLocal({ folder, failpoints, log: context.say, ...(port !== undefined && { port }) });
    context.print(
      {
        data: info,
        table: fields([
          ['Console', info.api],
          ['Admin', info.adminEmail],
          ['Password', `in ${info.adminPasswordFile}`],
          ['Kubeconfig', info.kubeconfig],
        ]),
        names: [info.api],
      },
      flags.output,
    );
  },
});

export const downCommand = command({
  name: 'down',
  description: 'End the platform on this machine; what was made is kept, unless --purge is given.',
  flags: { purge: toggle('also delete everything that was made, data and images included'), ...yesFlag },
  examples: ['svc down', 'svc down --purge --yes'],
  async run({ context, flags }) {
    const folder = homeFolder(context.env);
    const platform = localPlatform(context.env);
    if (platform?.target === 'cluster' && platform.process === undefined) {
      throw new Failure(
        `The platform of ${folder} runs on a cluster; only one that svc up has started is ended here.`,
        {
          code: 'not_on_this_machine',
          hint: 'of another folder: SVC_HOME=<folder> svc down; the test cluster: npm run testcluster -- down',
        },
      );
    }
    if (flags.purge) await confirm(context, flags, `Delete ${folder} with every app, function, volume and record?`);
    const ended = await stopSupervisor(homeAt(folder));
    context.say(ended ? 'the platform on this machine has ended' : 'there was no platform running on this machine');
    if (!flags.purge) return;
    await rm(folder, { recursive: true, force: true });
    context.say(`${folder} is deleted`);
  },
});

/** The platform that was brought up from this machine, if one ever was. */
export function localPlatform(env: NodeJS.ProcessEnv): LocalPlatform | undefined {
  const folder = homeFolder(env);
  try {
    const { target, api } = readRunInfo(folder);
    return { target, api, process: findSupervisor(homeAt(folder))?.pid };
  } catch {
    return undefined;
  }
}
