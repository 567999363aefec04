const named = { project: 'shop', environment: 'prod' };
const api = { ...named, app: 'api' };

/** Each tool with arguments, and the request and the command that they mean. */
export const writeCases: readonly [
  name: string,
  args: object,
  request: [method: string, path: string, body?: object],
  command: string,
][] = [
  [
    'deploy_image',
    { ...api, image: 'r.test/api:2', commit: '4c0ffee' },
    ['PATCH', '/projects/shop/apps/api', { image: 'r.test/api:2', commit: '4c0ffee' }],
    'svc app update api --image r.test/api:2 --commit 4c0ffee',
  ],
  ['roll_back_app', api, ['POST', '/projects/shop/apps/api/rollback', {}], 'svc app rollback api'],
  [
    'roll_back_app',
    { ...api, revision: 3, withConfig: true },
    ['POST', '/projects/shop/apps/api/rollback', { revision: 3, withConfig: true }],
    'svc app rollback api --revision 3 --with-config',
  ],
  [
    'restart_workload',
    { ...named, kind: 'function', name: 'hello' },
    ['POST', '/projects/shop/functions/hello/restart'],
    'svc function restart hello',
  ],
  [
    'scale_app',
    { ...api, replicas: 0 },
    ['PATCH', '/projects/shop/apps/api', { replicas: 0 }],
    'svc app update api --replicas 0',
  ],
  [
    'cancel_deployment',
    { project: 'shop', id: '1' },
    ['POST', '/projects/shop/deployments/1/cancel'],
    'svc deployment cancel 1',
  ],
  ['run_job', { ...named, job: 'report' }, ['POST', '/projects/shop/jobs/report/runs'], 'svc job run report'],
  [
    'set_variables',
    { ...named, kind: 'app', name: 'api', variables: { A: "it's", B: '${A}' } },
    ['PATCH', '/projects/shop/apps/api/env', { A: "it's", B: '${A}' }],
    `svc app env set api 'A=it'\\''s' 'B=\${A}'`,
  ],
  [
    'redrive_dead_letters',
    { ...named, function: 'import', ids: ['17'] },
    ['POST', '/projects/shop/functions/import/dead-letters/redrive', { ids: ['17'] }],
    'svc function dead-letters redrive import --id 17',
  ],
  [
    'redrive_dead_letters',
    { ...named, function: 'import' },
    ['POST', '/projects/shop/functions/import/dead-letters/redrive', { all: true }],
    'svc function dead-letters redrive import --all',
  ],
];
