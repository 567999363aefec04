import { readPlatformConfig, readSettings } from '../../runtime/host/platform-config.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { getPlatformConfigSchema, platformStatusSchema, updatePlatformConfigSchema } from './schema.ts';
import { changeSettings } from './store.ts';
import { platformConfigToView } from './view.ts';

const tag = 'platform';

export interface PlatformDependencies {
  version: string;
  kube: Pick<KubeClient, 'get' | 'replace'>;
  /** Each component's name and whether it works right now. */
  components: Readonly<Record<string, () => Promise<boolean>>>;
}

/** `/platform`: what runs here and how it is, and the installation's settings. */
export function createPlatformRoutes({ version, kube, components }: PlatformDependencies): Route[] {
  return [
    route({
      ...platformStatusSchema,
      method: 'GET',
      path: '/platform/status',
      access: 'session',
      tag,
      summary: 'Shows the version, the settings and the state of the platform’s components.',
      async handle() {
        const { cluster, appsDomain } = await readPlatformConfig(kube);
        const states = await Promise.all(
          Object.entries(components).map(async ([name, works]) => ({
            name,
            status: (await works().catch(() => false)) ? ('on' as const) : ('unhealthy' as const),
          })),
        );
        return { status: 200, body: { version, cluster, appsDomain, components: states } };
      },
    }),
    route({
      ...getPlatformConfigSchema,
      method: 'GET',
      path: '/platform/config',
      access: 'platform-admin',
      tag,
      summary: 'Shows the settings in force, and whether those that were last written are.',
      async handle() {
        const { config, settings } = await readSettings(kube);
        return { status: 200, body: platformConfigToView(config, settings) };
      },
    }),
    route({
      ...updatePlatformConfigSchema,
      method: 'PATCH',
      path: '/platform/config',
      access: 'platform-admin',
      tag,
      summary: 'Changes settings, all that are named or none; 422 names every one that is bad.',
      async handle(request) {
        const { config, settings } = await changeSettings(kube, request.body);
        request.log.info({ change: request.body, actor: sessionOf(request).email }, 'platform settings changed');
        return { status: 200, body: platformConfigToView(config, settings) };
      },
    }),
  ];
}
