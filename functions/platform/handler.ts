import { platformStatus } from '../../runtime/contracts/api/platform.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { route, type Route } from '../../runtime/host/route.ts';

export interface PlatformDependencies {
  version: string;
  /** The installation's settings. @throws Problem `unavailable` when there are none yet */
  platformConfig: () => Promise<PlatformConfigSpec>;
  /** Each component's name and whether it works right now. */
  components: Readonly<Record<string, () => Promise<boolean>>>;
}

/** `/platform/status`: what runs here, and how it is. */
export function createPlatformRoutes({ version, platformConfig, components }: PlatformDependencies): Route[] {
  return [
    route({
      method: 'GET',
      path: '/platform/status',
      access: 'session',
      summary: 'Shows the version, the settings and the state of the platform’s components.',
      tag: 'platform',
      replies: { 200: platformStatus },
      async handle() {
        const { cluster, appsDomain } = await platformConfig();
        const states = await Promise.all(
          Object.entries(components).map(async ([name, works]) => ({
            name,
            status: (await works().catch(() => false)) ? 'on' : 'unhealthy',
          })),
        );
        return { status: 200, body: { version, cluster, appsDomain, components: states } };
      },
    }),
  ];
}
