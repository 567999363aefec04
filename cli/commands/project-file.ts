import { command } from '../command.ts';
import { apiFlags, scopeFlags, yesFlag } from '../common-flags.ts';
import { text, toggle } from '../flags.ts';
import { waitFlags } from '../wait.ts';

const fileFlags = {
  file: text('<file>', 'project file (default svc.yaml)', { short: 'f' }),
  environment: text('<environment>', 'environment (default: all that the file names)', { short: 'e' }),
  ...apiFlags,
};

const pruneFlags = {
  prune: toggle('delete objects that were applied before and have left the file'),
  pruneData: toggle('with --prune, delete services and volumes with their data, too'),
};

// The file is YAML in any case.
const { output: _, ...exportFlags } = scopeFlags;

/** `svc apply`, `svc diff`, `svc export` and `svc schema`; the code is loaded on use. */
export const applyCommand = command({
  name: 'apply',
  description: 'Create and change what a project file (svc.yaml) describes.',
  flags: {
    dryRun: toggle('show what would change, and change nothing'),
    ...pruneFlags,
    secretsFile: text('<file>', 'file with lines NAME=value for secrets that have no value (default: prompt)'),
    ...yesFlag,
    ...waitFlags,
    ...fileFlags,
  },
  examples: [
    'svc apply',
    'svc apply --dry-run',
    'svc apply --environment prod --secrets-file .env.prod',
    'svc apply --prune --yes',
  ],
  async run({ context, flags }) {
    await (await import('../project-file/commands.ts')).runApply(context, flags);
  },
});

export const diffCommand = command({
  name: 'diff',
  description: 'Compare a project file (svc.yaml) with the platform.',
  flags: { exitCode: toggle('exit with 1 when there are differences'), ...pruneFlags, ...fileFlags },
  examples: ['svc diff', 'svc diff --environment prod -o json', 'svc diff --exit-code'],
  async run({ context, flags }) {
    await (await import('../project-file/commands.ts')).runDiff(context, flags);
  },
});

export const exportCommand = command({
  name: 'export',
  description: 'Print a project as a project file (svc.yaml).',
  flags: exportFlags,
  examples: ['svc export --project shop > svc.yaml', 'svc export --project shop --environment prod'],
  async run({ context, flags }) {
    await (await import('../project-file/commands.ts')).runExport(context, flags);
  },
});

export const schemaCommand = command({
  name: 'schema',
  description: 'Print the JSON Schema of the project file, for editors.',
  flags: {},
  examples: ['svc schema > svc.schema.json'],
  async run({ context }) {
    const { projectFileSchema } = await import('../../runtime/contracts/project-file.ts');
    context.stdout.write(`${JSON.stringify(projectFileSchema(), null, 2)}\n`);
  },
});
