import { command } from '../command.ts';
import { Failure } from '../failure.ts';
import { installFlags } from './install-flags.ts';

/** The npm package of the command line leaves the Kubernetes client out, which is larger than all the rest. */
function isMissingClient(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes('@kubernetes/client-node');
}

function missingClient(): Failure {
  return new Failure('svc install needs the package @kubernetes/client-node.', {
    code: 'not_installed',
    hint: 'install it beside svc: npm install -g @kubernetes/client-node',
  });
}

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
    const { install } = await import('./install.ts').catch((error: unknown) => {
      throw isMissingClient(error) ? missingClient() : error;
    });
    await install(context, typedFlags);
  },
});
