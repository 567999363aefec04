import { command } from '../command.ts';
import { deployFlags } from '../folder/deploy-flags.ts';

export const deployFolderCommand = command({
  name: 'deploy',
  args: ['folder?'],
  description: 'Upload a folder, build it, and run it as an app.',
  flags: deployFlags,
  examples: [
    'svc deploy',
    'svc deploy ./shop --project shop --name web --open',
    'svc deploy --bind orders --secret API_KEY',
    'svc deploy --port 3000 --no-wait -o json',
  ],
  async run({ context, args, flags }) {
    // Most commands do not need what reads and uploads folders.
    const { deployFolder } = await import('../folder/deploy-folder.ts');
    await deployFolder(context, args.folder ?? '.', flags);
  },
});
