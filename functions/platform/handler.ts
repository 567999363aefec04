import { readSettings } from '../../runtime/workloads/platform-config.ts';
import { describeCertificates } from '../../runtime/domain/certificates.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { PlatformState } from '../../runtime/contracts/platform-state.ts';
import type { Check, ComponentState } from './checks.ts';
import { changeComponent, componentsOf } from './components.ts';
import {
  getPlatformConfigSchema,
  platformStatusSchema,
  updateComponentSchema,
  updatePlatformConfigSchema,
} from './schema.ts';
import { changeSettings, type SettingsChange } from './store.ts';
import { platformConfigToView } from './view.ts';

const tag = 'platform';

export interface PlatformDependencies {
  version: string;
  kube: Pick<KubeClient, 'get' | 'replace'>;
  /** Checks each part of the platform. */
  components: Readonly<Record<string, Check>>;
  /** The nodes of the cluster. */
  nodes: () => Promise<PlatformState['nodes']>;
}

/** `/platform`: the installation's status, settings and components. */
export function createPlatformRoutes({ version, kube, components, nodes }: PlatformDependencies): Route[] {
  return [
    route({
      ...platformStatusSchema,
      method: 'GET',
      path: '/platform/status',
      access: 'session',
      tag,
      summary: 'Shows the version, the settings and the state of the platform’s components.',
      async handle({ session, log }) {
        const stored = await readSettings(kube);
        const { cluster, appsDomain } = stored.settings;
        // The names and addresses of machines are for admins.
        const isAdmin = session?.role === 'admin';
        const states = await Promise.all(
          Object.entries(components).map(async ([name, check]) => {
            const state = await check(isAdmin).catch((error: unknown): ComponentState => {
              log.error({ err: error, component: name }, 'cannot check a component');
              return { status: 'unhealthy' };
            });
            return state ? [{ name, ...state }] : [];
          }),
        );
        const machines = isAdmin && { nodes: await nodes().catch(() => []) };
        const all = [...states.flat(), ...componentsOf(stored)];
        return { status: 200, body: { version, cluster, appsDomain, components: all, ...machines } };
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
        const { replaces, ...change } = request.body;
        if (Object.keys(change).length === 0) {
          throw new Problem('invalid_request', 'The request changes nothing. Set a setting, such as profile.');
        }
        const { config, settings } = await changeSettings(kube, change, replaces);
        const view = platformConfigToView(config, settings);
        return { status: 200, body: view, audit: { change: forAudit(change) } };
      },
    }),
    route({
      ...updateComponentSchema,
      method: 'PATCH',
      path: '/platform/components/:component',
      access: 'platform-admin',
      tag,
      summary: 'Enables, disables or resizes a component of monitoring.',
      audit: 'platform.component.update',
      async handle(request) {
        const { component } = request.params;
        const body = await changeComponent({ kube, nodes }, component, request.body);
        return { status: 200, body, audit: { component, change: request.body } };
      },
    }),
  ];
}

/** A change as the log shows it: certificates by their subjects, because their text is long and says nothing. */
function forAudit({ caCertificates, ...change }: SettingsChange): object {
  if (typeof caCertificates !== 'string') return caCertificates === null ? { ...change, caCertificates } : change;
  return { ...change, caCertificates: describeCertificates(caCertificates) };
}
