import t from 'tap';
import { run } from '../../../infra/demo/program.ts';
import { controllerNames } from '../../../runtime/contracts/api/health.ts';
import { eventually, runningPlatform } from '../../support/platform.ts';

const platform = await runningPlatform();

interface Item {
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    resourceVersion: string;
    generation?: number;
    labels?: object;
    annotations?: object;
  };
}

/**
 * The resource version of an object with a status changes with its status and its pods, so the generation is compared.
 */
const versionOf = ({ generation, resourceVersion, labels, annotations }: Item['metadata']) =>
  JSON.stringify([generation ?? resourceVersion, labels, annotations]);

async function versions(): Promise<Map<string, string>> {
  const listed = await platform.kubectl(
    'get',
    '-A',
    '-l',
    'app.kubernetes.io/managed-by=kipper',
    '-o',
    'json',
    'crd,clusterrole,clusterrolebinding,role,rolebinding,serviceaccount,secret,service,pdb,ingressroute,middleware,platformconfigs.platform.svc',
  );
  const { items } = JSON.parse(listed.stdout) as { items: Item[] };
  return new Map(
    items.map(({ kind, metadata }) => [`${kind} ${metadata.namespace ?? ''}/${metadata.name}`, versionOf(metadata)]),
  );
}

async function generations(): Promise<string> {
  const listed = await platform.kubectl('-n', 'svc-system', 'get', 'deploy,statefulset', '-o', 'json');
  const { items } = JSON.parse(listed.stdout) as { items: Item[] };
  return items.map(({ kind, metadata }) => `${kind}/${metadata.name} ${metadata.generation}`).join('\n');
}

t.test('running svc install again changes nothing', async (t) => {
  const generation = await generations();
  const config = await platform.kubectl('get', 'platformconfigs.platform.svc', 'platform', '-o', 'json');
  const deployments = await platform.kubectl('-n', 'svc-system', 'get', 'deploy,statefulset', '-o', 'json');
  const { spec } = JSON.parse(config.stdout) as {
    spec: { runtimeImages: { node: string; python?: string }; serviceImages?: { mysql?: string; minio?: string } };
  };
  /** Resources that a machine may lack. */
  const optional = (flag: string, image: string | undefined) => (image === undefined ? [] : [flag, image]);
  const imageOf = (name: string) => {
    const { items } = JSON.parse(deployments.stdout) as {
      items: { metadata: { name: string }; spec: { template: { spec: { containers: { image: string }[] } } } }[];
    };
    const image = items.find((item) => item.metadata.name === name)?.spec.template.spec.containers[0]?.image;
    return image ?? t.fail(`no ${name}`).toString();
  };
  const port = new URL(platform.info.api).port;
  const flags = [
    'install',
    '--kubeconfig',
    platform.info.kubeconfig,
    '--apps-domain',
    platform.info.appsDomain,
    '--cluster',
    'local',
    '--scheme',
    'http',
    '--public-port',
    port,
    '--entry-point',
    'web',
    '--image-platform',
    imageOf('console-api'),
    '--image-function-node',
    spec.runtimeImages.node,
    ...optional('--image-function-python', spec.runtimeImages.python),
    ...optional('--image-mysql', spec.serviceImages?.mysql),
    ...optional('--image-minio', spec.serviceImages?.minio),
    '--image-postgres',
    imageOf('svc-postgres'),
    '--image-redis',
    imageOf('svc-redis'),
    '--failpoints',
    // The address of the cluster's ingress.
    ...(platform.info.target === 'local' ? ['--one-checker', '--ingress-address', platform.info.ingress] : []),
  ];
  const install = async () => {
    const { code, stderr } = await run(process.execPath, ['cli/svc.js', ...flags]);
    t.equal(code, 0, stderr);
  };
  // Takes the settings that other tests changed with `svc platform config set` into its record of what it applied.
  await install();
  const before = await versions();
  t.ok(before.size > 20);
  await install();
  t.same(await versions(), before);
  t.equal(await generations(), generation);
});

t.test('every process runs as a pod; those that serve requests with replicas and budgets of the profile', async (t) => {
  interface Process {
    metadata: { name: string };
    spec: { replicas: number };
    status: { readyReplicas?: number };
  }
  const processes = async () => {
    const listed = await platform.kubectl('-n', 'svc-system', 'get', 'deploy', '-o', 'json');
    return (JSON.parse(listed.stdout) as { items: Process[] }).items;
  };
  const { profile } = await platform.json<{ profile: string }>(['platform', 'config', 'show']);
  const served = profile === 'nano' ? 1 : 2;
  const checkers = platform.info.target === 'local' ? 1 : 2;
  const items = await eventually(processes, (all) =>
    all.every(({ spec, status }) => status.readyReplicas === spec.replicas),
  );
  t.same(Object.fromEntries(items.map((item) => [item.metadata.name, item.status.readyReplicas])), {
    'console-api': served,
    'svc-authz': checkers,
    'svc-controllers': 1,
    'svc-interceptor': served,
    'svc-workers': 1,
  });
  const budgets = await platform.kubectl('-n', 'svc-system', 'get', 'pdb', '-o', 'name');
  for (const name of ['console-api', 'svc-authz', 'svc-interceptor']) {
    t.equal(
      budgets.stdout.includes(name),
      (name === 'svc-authz' ? checkers : served) > 1,
      `${name} has a budget if it has a second replica`,
    );
  }
});

t.test('health and controllers answer from the start', async (t) => {
  const health = await platform.request(`${platform.info.api}/health`);
  t.equal(health.status, 200);
  const controllers = await eventually(
    () => platform.request(`${platform.info.api}/health/controllers`),
    ({ status }) => status === 200,
  );
  t.match(controllers.json(), { healthy: true, managerStarted: true, cacheSynced: true });
  const names = (controllers.json()['controllers'] as { name: string; registered: boolean }[]).map(({ name }) => name);
  t.same(names.sort(), [...controllerNames].sort());
  const openapi = await platform.request(`${platform.info.api}/api/v1/openapi.json`);
  t.equal(openapi.json()['openapi'], '3.1.0');
});
