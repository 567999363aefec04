import { rm } from 'node:fs/promises';
import { homeAt, homeFolder } from '../../infra/local/home.ts';
import { command } from '../command.ts';
import { outputFlag, yesFlag } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { amount, toggle } from '../flags.ts';
import { localPlatform } from '../local-platform.ts';
import { fields } from '../output.ts';

export const upCommand = command({
  name: 'up',
  description: 'Start the platform on this machine. Existing data is kept.',
  flags: {
    port: amount('<port>', 'port of the ingress (default: the last one, or the first free from 8080)', {
      min: 1,
      max: 65_535,
    }),
    failpoints: toggle('let files in /failpoints kill the workers, for tests', { hidden: true }),
    ...outputFlag,
  },
  examples: ['svc up', 'svc up --port 9000'],
  async run({ context, flags }) {
    // The npm package has the command line only.
    if (import.meta.filename.endsWith('.js')) {
      throw new Failure('The npm package of svc has the command line, but not the platform.', {
        code: 'not_installed',
        hint: 'in a clone of the repository, run: npm link, then svc up',
      });
    }
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
  description: 'Stop the platform on this machine. Data is kept unless --purge is set.',
  flags: { purge: toggle('also delete all resources, data and images'), ...yesFlag },
  examples: ['svc down', 'svc down --purge --yes'],
  async run({ context, flags }) {
    const folder = homeFolder(context.env);
    const platform = localPlatform(context.env);
    if (platform?.target === 'cluster' && platform.process === undefined) {
      throw new Failure(
        `The platform of ${folder} runs on a cluster. svc down stops only platforms that svc up started.`,
        {
          code: 'not_on_this_machine',
          hint: 'for another folder: SVC_HOME=<folder> svc down; for the test cluster: npm run testcluster -- down',
        },
      );
    }
    const { confirm } = await import('../prompt.ts');
    const { stopSupervisor } = await import('../../infra/local/supervisor.ts');
    if (flags.purge) await confirm(context, flags, `Delete ${folder} with all apps, functions, volumes and records?`);
    const stopped = await stopSupervisor(homeAt(folder));
    context.say(stopped ? 'the platform on this machine is stopped' : 'the platform on this machine was not running');
    if (!flags.purge) return;
    await rm(folder, { recursive: true, force: true });
    context.say(`${folder} is deleted`);
  },
});
