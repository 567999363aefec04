import { command } from '../command.ts';
import { installFlags } from './install-flags.ts';

export const installCommand = command({
  name: 'install',
  description: 'Install or upgrade the platform in a Kubernetes cluster.',
  flags: installFlags,
  examples: [
    'svc install --apps-domain apps.example.com --cluster home --registry registry.example.com',
    'svc install --apps-domain apps.localhost --cluster local --scheme http --public-port 8080 --registry localhost:5000',
    'svc install --apps-domain apps.example.com --cluster home --registry registry.example.com --dry-run > platform.yaml',
  ],
  async run({ context, flags: typedFlags }) {
    const { install } = await import('./install.ts');
    await install(context, typedFlags);
  },
});
