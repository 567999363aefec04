import t from 'tap';
import { codeFile } from '../../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

/** What the cluster's own admission makes of the labels that the platform gives a namespace. */
const platform = await runningPlatform();
const hello = 'localhost:5000/svc/hello:v1';

t.test('an environment takes no privileged pod, and tells of what is less than restricted', async (t) => {
  const { namespace } = await testProject(t, platform);
  const pod = (more: object) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'probe', namespace },
      spec: { containers: [{ name: 'probe', image: hello, ...more }] },
    });
  const dryRun = (body: string) => platform.kubectlInput(body, 'create', '--dry-run=server', '-o', 'name', '-f', '-');
  // Pods are taken once the cluster has made the namespace's own account.
  await eventually(
    () => dryRun(pod({})),
    ({ code }) => code === 0,
  );
  t.match(await dryRun(pod({ securityContext: { privileged: true } })), { code: 1, stderr: /violates PodSecurity/ });
  t.match(await dryRun(pod({})), { code: 0, stderr: /would violate PodSecurity "restricted/ }, 'told, not refused');
});

t.test('function pods satisfy what the namespace only warns of', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const file = codeFile(t, 'hello.js', 'export const handler = () => ({ statusCode: 200, body: "ok" });\n');
  // A function's host holds its name alone, in the whole installation.
  const name = uniqueName('hello');
  await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  await eventually(
    () => platform.request(url),
    ({ status }) => status === 200,
  );
  const enforced = await platform.kubectl(
    ...['label', '--dry-run=server', '--overwrite', 'namespace', namespace],
    'pod-security.kubernetes.io/enforce=restricted',
  );
  t.equal(enforced.code, 0);
  t.equal(enforced.stderr, '', 'no pod that runs now would violate it');
});
