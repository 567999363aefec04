import { command } from '../command.ts';
import { askFlags } from '../ask-flags.ts';
import { auditFlags } from '../audit-flags.ts';
import { apiFlags, scopeFlags } from '../common-flags.ts';
import { text } from '../flags.ts';
import { environmentLogFlags } from '../log-flags.ts';
import { topFlags } from '../top-flags.ts';
import { loginFlags, logoutFlags, statusFlags, whoamiFlags } from '../session-flags.ts';

// The modules of these commands are loaded on use, since the root group is loaded by every command.

export const openCommand = command({
  name: 'open',
  args: ['workload', 'name?'],
  description: 'Open an app, a function or the web console in the browser, or print its URL.',
  flags: scopeFlags,
  examples: ['svc open console', 'svc open api', 'svc open function hello', 'svc open api -o name'],
  run: async ({ context, args, flags }) => (await import('./open.ts')).open(context, args, flags),
});

export const environmentLogsCommand = command({
  name: 'logs',
  description: 'Show the logs of all apps, functions and jobs in an environment, by time.',
  flags: environmentLogFlags,
  examples: [
    'svc logs',
    'svc logs -f --environment prod',
    'svc logs --app api --function hello --job report --since 15m',
  ],
  forArgument: (name) => `svc app logs ${name}`,
  run: async ({ context, flags }) => (await import('./environment-logs.ts')).printEnvironmentLogs(context, flags),
});

const { output: _, ...forwardFlags } = scopeFlags;

export const portForwardCommand = command({
  name: 'port-forward',
  args: ['target', 'ports?'],
  description: 'Forward a port of this machine to an app or a managed service.',
  flags: forwardFlags,
  examples: [
    'svc port-forward app/api',
    'svc port-forward app/api 9000:8080',
    'svc port-forward service/orders 15432:5432',
    'svc port-forward service/orders 0:5432',
  ],
  run: async ({ context, args, flags }) => (await import('./port-forward.ts')).forwardPort(context, args, flags),
});

export const topCommand = command({
  name: 'top',
  description: 'Show the CPU, memory and requests of all workloads in an environment.',
  flags: topFlags,
  watch: true,
  examples: ['svc top', 'svc top --environment prod --sort memory --watch'],
  run: async ({ context, flags }) => (await import('./top.ts')).printTop(context, flags),
});

export const auditCommand = command({
  name: 'audit',
  description: 'List who did what in a project, or on the whole platform, newest first.',
  flags: auditFlags,
  watch: true,
  examples: [
    'svc audit',
    'svc audit --action app. --since 24h',
    'svc audit --project shop --actor dana@example.com -o json',
    'svc audit --platform --action user.',
  ],
  run: async ({ context, flags }) => (await import('./audit.ts')).printAudit(context, flags),
});

export const watchCommand = command({
  name: 'watch',
  description: 'Print what changes in a project, as it changes.',
  flags: {
    ...scopeFlags,
    environment: text('<environment>', 'only this environment (SVC_ENVIRONMENT; default: all)', { short: 'e' }),
  },
  examples: ['svc watch', 'svc watch --environment prod -o json'],
  run: async ({ context, flags }) => (await import('./watch.ts')).watchChanges(context, flags),
});

export const loginCommand = command({
  name: 'login',
  description: 'Sign in to a platform.',
  flags: loginFlags,
  examples: [
    'svc login --api https://console.apps.example.com',
    'svc login --api https://console.apps.example.com --email admin@svc.local --password-stdin < admin-password',
  ],
  run: async ({ context, flags }) => (await import('./session.ts')).login(context, flags),
});

export const logoutCommand = command({
  name: 'logout',
  description: 'Sign out and end the session. The context keeps its address and project.',
  flags: logoutFlags,
  examples: ['svc logout'],
  run: async ({ context, flags }) => (await import('./session.ts')).logout(context, flags),
});

export const whoamiCommand = command({
  name: 'whoami',
  description: 'Show the current user or access token, and the platform.',
  flags: whoamiFlags,
  examples: ['svc whoami', 'svc whoami -o json'],
  run: async ({ context, flags }) => (await import('./session.ts')).whoami(context, flags),
});

export const statusCommand = command({
  name: 'status',
  description: 'Show the health of the platform. Exits with 1 if a component is unhealthy.',
  flags: statusFlags,
  watch: true,
  examples: ['svc status', 'svc status -o json'],
  run: async ({ context, flags }) => (await import('./status.ts')).status(context, flags),
});

export const askCommand = command({
  name: 'ask',
  args: ['question'],
  description: 'Ask the assistant about a project. It changes nothing.',
  flags: askFlags,
  examples: [
    'svc ask "why did the deployment of api fail?"',
    'svc ask "which key used up its quota?" --project shop',
    'svc ask --continue "and since when?"',
    'svc ask "what does this config get wrong?" --app api --file config.yaml',
  ],
  run: async ({ context, args, flags }) => (await import('./ask.ts')).ask(context, args, flags),
});

const { output: _format, ...mcpFlags } = apiFlags;

export const mcpCommand = command({
  name: 'mcp',
  description: 'Serve the tools of the platform to an editor or agent (MCP over stdio).',
  flags: mcpFlags,
  examples: ['svc mcp', 'svc mcp --context production'],
  run: async ({ context, flags }) => (await import('./mcp.ts')).serveTools(context, flags),
});
