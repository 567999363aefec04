import { appView } from '../../runtime/contracts/api/apps.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { imageReference, text, texts } from '../flags.ts';
import { gitSourceBody, gitSourceFlags, usedGitFlags } from '../git-source.ts';
import { newEnvironmentBody, newEnvironmentFlags } from '../new-environment.ts';
import { resolveScope } from '../scope.ts';
import { waitFlags } from '../wait.ts';
import { appKind } from './app-kind.ts';
import { settingFlags, settingsBody } from './app-settings.ts';
import { waitUntilRunning } from './app-wait.ts';
import { securityBody, securityFlags } from './security-policy.ts';

export const createCommand = command({
  name: 'create',
  args: ['app'],
  description: 'Create an app from an image or a git repository.',
  flags: {
    image: imageReference('image with registry, name and tag'),
    git: text('<url>', 'build from this repository instead of using an image'),
    ...gitSourceFlags,
    hostname: text('<host>', 'public host (default <app>--<project>-<environment>.<apps domain>)'),
    ...settingFlags,
    ...newEnvironmentFlags,
    extraHost: texts('<host>', 'additional public host'),
    ...securityFlags,
    ...waitFlags,
    ...scopeFlags,
  },
  data: appView,
  examples: [
    'svc app create api --image registry.example.com/shop/api:1.4.2 --port 8080',
    'svc app create web --image registry.example.com/shop/web:7 --replicas 2 --health-path /ready --memory 256Mi',
    'svc app create api --git https://git.example.com/shop/api.git --branch release --token-file token',
    'svc app create api --image registry.example.com/shop/api:1 --bind orders --secret API_KEY --env-file .env',
  ],
  async run({ context, args, flags }) {
    const { git, hostname, image } = flags;
    if ((image === undefined) === (git === undefined)) throw usageFailure('Use either --image <image> or --git <url>.');
    const [gitFlag] = git === undefined ? usedGitFlags(flags) : [];
    if (gitFlag !== undefined) throw usageFailure(`${gitFlag} requires --git.`);
    const scope = resolveScope(context, flags);
    const body = {
      name: args.app,
      ...(git === undefined ? { image } : { git: await gitSourceBody(context, git, flags) }),
      ...(hostname !== undefined && { hostname }),
      ...(flags.extraHost.length > 0 && { extraHosts: flags.extraHost }),
      ...securityBody(flags),
      ...settingsBody(flags),
      ...(await newEnvironmentBody(context, flags)),
    };
    const created = await appKind.create(scope, body);
    const app = flags.wait ? await waitUntilRunning(context, flags, scope, args.app) : created;
    appKind.print(context, app, flags.output);
  },
});
