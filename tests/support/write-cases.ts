const named = { project: 'shop', environment: 'prod' };
const api = { ...named, app: 'api' };

/** Code that a shell must not expand, with a line that could end its input. */
const code = "export const handler = async () => `it's ${process.env.HOME}`;\n// $(id) \\n\nEND\n";

/** Each tool with arguments, and the request and the command with its standard input that they mean. */
export const writeCases: readonly [
  name: string,
  args: object,
  request: [method: string, path: string, body?: object],
  command: string,
  input?: string,
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
  [
    'create_function',
    {
      ...named,
      function: 'nightly',
      runtime: 'node',
      code,
      trigger: 'cron',
      schedule: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      dependencies: ['lodash@4.17.21'],
      variables: { LEVEL: 'debug', TEXT: "it's ${A}" },
    },
    [
      'POST',
      '/projects/shop/functions',
      {
        name: 'nightly',
        runtime: 'node',
        code,
        dependencies: ['lodash@4.17.21'],
        trigger: 'cron',
        schedule: '0 2 * * *',
        timeZone: 'Europe/Berlin',
        env: { LEVEL: 'debug', TEXT: "it's ${A}" },
      },
    ],
    'svc function create nightly --runtime node --code-file - --dependency lodash@4.17.21 --trigger cron ' +
      `--schedule '0 2 * * *' --time-zone Europe/Berlin --env LEVEL=debug --env 'TEXT=it'\\''s \${A}'`,
    code,
  ],
  [
    'create_function',
    {
      ...named,
      function: 'import',
      runtime: 'python',
      code: 'def handler(event, context):\r\n  pass',
      trigger: 'postgres',
      source: 'orders',
      query: 'SELECT * FROM orders WHERE NOT done ORDER BY id',
      markDone: 'UPDATE orders SET done = true WHERE id = {{id}}',
      dependencies: [],
    },
    [
      'POST',
      '/projects/shop/functions',
      {
        name: 'import',
        runtime: 'python',
        code: 'def handler(event, context):\n  pass\n',
        trigger: 'postgres',
        events: {
          source: 'orders',
          query: 'SELECT * FROM orders WHERE NOT done ORDER BY id',
          markDone: 'UPDATE orders SET done = true WHERE id = {{id}}',
        },
      },
    ],
    'svc function create import --runtime python --code-file - --trigger postgres --source orders ' +
      "--query 'SELECT * FROM orders WHERE NOT done ORDER BY id' " +
      "--mark-done 'UPDATE orders SET done = true WHERE id = {{id}}'",
    'def handler(event, context):\n  pass\n',
  ],
  [
    'update_function_code',
    { ...named, function: 'hello', code, dependencies: [] },
    ['PATCH', '/projects/shop/functions/hello', { code, dependencies: [] }],
    'svc function update hello --code-file - --no-dependencies',
    code,
  ],
];
