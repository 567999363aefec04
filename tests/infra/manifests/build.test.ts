import type { V1Container } from '@kubernetes/client-node';
import t from 'tap';
import { buildJob } from '../../../infra/manifests/build.ts';
import type { Build } from '../../../runtime/contracts/resources/build.ts';

const build: Build = {
  apiVersion: 'platform.svc/v1',
  kind: 'Build',
  metadata: { name: 'build-1', namespace: 'svc-builds' },
  spec: { app: 'api', namespace: 'shop-prod', source: { url: 'https://git.test/api.git' } },
};
const settings = { image: 'r.test/builder:1', registry: 'r.test/builds', baseImages: {} };

t.test('only the container that builds gets the package registries of the installation', (t) => {
  const variables = (registries?: Parameters<typeof buildJob>[2]) => {
    const pod = buildJob(build, settings, registries).spec.template.spec;
    const ofStep = (containers: V1Container[] = []) =>
      containers.flatMap(({ env = [] }) => env).filter(({ name }) => /^(?:npm_|PIP_|GOPROXY$)/.test(name));
    const [clone = [], make = []] = (pod?.initContainers ?? []).map((container) => ofStep([container]));
    t.same([...clone, ...ofStep(pod?.containers)], []);
    return make;
  };
  t.same(variables(), []);
  const packageRegistries = { npm: 'https://npm.test/', pypi: 'https://pypi.test/simple', go: 'https://go.test' };
  t.same(variables({ packageRegistries }), [
    { name: 'npm_config_registry', value: 'https://npm.test/' },
    { name: 'PIP_INDEX_URL', value: 'https://pypi.test/simple' },
    { name: 'GOPROXY', value: 'https://go.test' },
  ]);
  t.same(
    variables({ packageRegistries: { pypi: 'http://10.1.2.3:8080/simple' } }),
    [
      { name: 'PIP_INDEX_URL', value: 'http://10.1.2.3:8080/simple' },
      { name: 'PIP_TRUSTED_HOST', value: '10.1.2.3:8080' },
    ],
    'pip refuses a registry without TLS unless its host is trusted',
  );
  t.end();
});

t.test('every container of a build gets the CA certificates of the installation', (t) => {
  const pod = buildJob(build, settings, { caCertificates: 'PEM' }).spec.template.spec;
  const containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
  for (const { name, env } of containers) {
    t.match(
      env?.find((variable) => variable.name === 'BUILD_CA_CERTIFICATES'),
      { value: 'PEM' },
      name,
    );
  }
  t.equal(containers.length, 3);
  t.end();
});
