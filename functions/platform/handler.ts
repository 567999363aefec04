import { readPlatformConfig, readSettings } from '../../runtime/workloads/platform-config.ts';
import type { PlatformConfigUpdate } from '../../runtime/contracts/api/platform.ts';
import { describeCertificates } from '../../runtime/domain/certificates.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { getPlatformConfigSchema, platformStatusSchema, updatePlatformConfigSchema } from './schema.ts';
import { changeSettings } from './store.ts';
import { platformConfigToView } from './view.ts';

const tag = 'platform';

export interface PlatformDependencies {
  version: string;
  kube: Pick<KubeClient, 'get' | 'replace'>;
  /** Checks whether each component works. */
  components: Readonly<Record<string, () => Promise<boolean>>>;
}

/** `/platform`: the installation's status and settings. */
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
      summary: 'Shows the active settings, and whether the last change was applied.',
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
      summary: 'Changes settings, all or none. A 422 response lists every invalid setting.',
      audit: 'platform.config.update',
      async handle(request) {
        if (Object.keys(request.body).length === 0) {
          throw new Problem('invalid_request', 'The request changes nothing. Set a setting, such as profile.');
        }
        const { config, settings } = await changeSettings(kube, request.body);
        const view = platformConfigToView(config, settings);
        return { status: 200, body: view, audit: { change: forAudit(request.body) } };
      },
    }),
  ];
}

/** A change as the log shows it: certificates by their subjects, because their text is long and says nothing. */
function forAudit({ caCertificates, ...change }: PlatformConfigUpdate): object {
  if (typeof caCertificates !== 'string') return caCertificates === null ? { ...change, caCertificates } : change;
  return { ...change, caCertificates: describeCertificates(caCertificates) };
}
