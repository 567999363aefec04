import t from 'tap';
import { codeFile } from '../../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

/** How the cluster's admission applies the labels that the platform sets on a namespace. */
const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';

t.test('an environment refuses privileged pods, and warns of pods that are not restricted', async (t) => {
  const { namespace } = await testProject(t, platform);
  const pod = (more: object) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'probe', namespace },
      spec: { containers: [{ name: 'probe', image: hello, ...more }] },
    });
  const dryRun = (body: string) => platform.kubectlInput(body, 'create', '--dry-run=server', '-o', 'name', '-f', '-');
  // Pods are admitted once the cluster has created the namespace's default account.
  await eventually(
    () => dryRun(pod({})),
    ({ code }) => code === 0,
  );
  t.match(await dryRun(pod({ securityContext: { privileged: true } })), { code: 1, stderr: /violates PodSecurity/ });
  t.match(await dryRun(pod({})), { code: 0, stderr: /would violate PodSecurity "restricted/ }, 'warned, not refused');
});

t.test('function pods satisfy the level that the namespace warns about', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const file = codeFile(t, 'hello.js', 'export const handler = () => ({ statusCode: 200, body: "ok" });\n');
  // A function's host contains only its name, in the whole installation.
  const name = uniqueName('hello');
  await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  await eventually(
    () => platform.request(url),
    ({ status }) => status === 200,
  );
  const enforced = await platform.kubectl(
    'label',
    '--dry-run=server',
    '--overwrite',
    'namespace',
    namespace,
    'pod-security.kubernetes.io/enforce=restricted',
  );
  t.equal(enforced.code, 0);
  t.equal(enforced.stderr, '', 'no running pod would violate it');
});
