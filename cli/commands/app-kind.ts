import { appView, type AppView } from '../../runtime/contracts/api/apps.ts';
import { defineKind } from '../kind.ts';
import { ageColumn } from '../output.ts';
import { messageColumn, mountsText } from '../workload-columns.ts';
import { securityText } from './security-policy.ts';

export const appKind = defineKind<AppView>({
  name: 'app',
  article: 'an',
  level: 'environment',
  collection: 'apps',
  schema: appView,
  id: ({ name }) => name,
  examples: ['api', 'web'],
  columns: (items, { now }) => [
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'READY', value: ({ readyReplicas, replicas }) => `${readyReplicas}/${replicas}` },
    { title: 'GATE', value: ({ gate }) => gate },
    { title: 'IMAGE', value: ({ image }) => image },
    { title: 'URL', value: ({ url }) => url },
    ageColumn(now),
    ...messageColumn(items, now),
  ],
  details: (view) => [
    ['App', view.name],
    ['Project', view.project],
    ['Environment', view.environment],
    ['Status', view.status],
    ['Message', view.message],
    ['Out of memory', view.outOfMemory?.message],
    ['URL', view.url],
    ['Also at', view.extraHosts.join(' ') || undefined],
    ['Image', view.image || undefined],
    ['Ready', `${view.readyReplicas} of ${view.replicas}`],
    ['Gate', view.gate],
    ['Security', securityText(view.security)],
    ['Port', view.port],
    ['Health path', view.healthPath],
    ['Release command', view.releaseCommand?.join(' ')],
    ['Memory', view.memory],
    ['CPU', view.cpu],
    ['Variables', Object.keys(view.env).join(', ') || undefined],
    ['Bindings', view.bindings?.map(({ service, status }) => `${service} (${status})`).join(', ')],
    ['Auto-rollback', view.autoRollback ? undefined : 'off'],
    ['Volumes', mountsText(view.volumes)],
    [
      'Changes',
      view.pendingRestart ? `variables, secrets or bindings changed; apply: svc app restart ${view.name}` : undefined,
    ],
  ],
  help: { delete: 'Delete apps and all their resources.' },
});
