import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { newEnvironmentBody, newEnvironmentFlags } from '../new-environment.ts';
import { resolveScope } from '../scope.ts';
import { waitFlags } from '../wait.ts';
import { functionKind } from './function-kind.ts';
import { settingFlags, settingsBody } from './function-settings.ts';
import { newSourceBody, sourceFlags } from './function-source.ts';
import { checkNewTrigger } from './function-trigger.ts';
import { waitForUpdate } from './function-wait.ts';
import { securityBody, securityFlags } from './security-policy.ts';

export const createCommand = command({
  name: 'create',
  args: ['function'],
  description: 'Create a function from a source file or a container image.',
  flags: { ...sourceFlags, ...settingFlags, ...securityFlags, ...newEnvironmentFlags, ...waitFlags, ...scopeFlags },
  data: functionView,
  examples: [
    'svc function create hello --runtime node --code-file hello.js',
    'svc function create hello --runtime python --code-file hello.py',
    'svc function create hello --runtime node --code-file hello.js --idle-timeout 1h --project shop',
    'svc function create thumbs --code-file thumbs.js --concurrency 4 --min-replicas 1',
    'svc function create price --code-file price.py --dependency requests@2.32.3',
    'svc function create resize --image registry.example.com/shop/resize:3 --port 9000',
    'svc function create thumbs --code-file thumbs.js --env SIZE=320 --volume pictures:/data --memory 512Mi --cpu 500m',
    'svc function create orders --code-file orders.py --bind orders --secret API_KEY --env-file .env',
    'svc function create nightly --code-file nightly.js --trigger cron --schedule "0 2 * * *" --time-zone Europe/Berlin',
    'svc function create import --code-file import.js --trigger postgres --source orders --database shop --query "SELECT * FROM orders WHERE NOT done ORDER BY id" --mark-done "UPDATE orders SET done = true WHERE id = {{id}}"',
    'svc function create work --code-file work.py --trigger http --trigger redis --source cache --list jobs',
  ],
  async run({ context, args, flags }) {
    checkNewTrigger(flags);
    const settings = { ...(await newSourceBody(context, flags)), ...settingsBody(flags), ...securityBody(flags) };
    const scope = resolveScope(context, flags);
    const body = { name: args.function, ...settings, ...(await newEnvironmentBody(context, flags)) };
    const created = await functionKind.create(scope, body);
    const current = flags.wait ? await waitForUpdate(context, flags, scope, args.function) : created;
    functionKind.print(context, current, flags.output);
    if (flags.hostname === undefined) sayTakenHost(context, current);
  },
});

/** Says that another workload has the function's short default host, which is why its URL is longer (decision 0042). */
function sayTakenHost(context: Context, { name, project, environment, url }: FunctionView): void {
  const namespace = `--${project}-${environment}--`;
  if (!url?.includes(`//fn-${name}${namespace}`)) return;
  const { hostname } = new URL(url.replace(namespace, '--'));
  context.say(`${hostname} is taken, so ${name} answers at ${url}; --hostname chooses another host`);
}
