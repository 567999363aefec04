import t from 'tap';
import { node } from '../../infra/testcluster/settings.ts';
import { codeFile } from '../support/code-file.ts';
import { packageRegistry, useNpmRegistry } from '../support/package-registry.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

const platform = await runningPlatform();

/** Where pods reach this machine. */
const host = platform.info.target === 'cluster' ? node.address : '127.0.0.1';

interface FunctionView {
  url: string;
  status: string;
  message?: string;
}

t.test('a function gets its dependencies before its first start, from the configured registry', async (t) => {
  const registry = await packageRegistry(t, host);
  registry.addNpm('greeting', '1.0.0', {
    'package.json': '{"name":"greeting","version":"1.0.0"}',
    'index.js': "module.exports = 'hello from a package';",
  });
  await useNpmRegistry(t, platform, registry);
  const { flags } = await testProject(t, platform);
  const file = codeFile(t, 'greet.js', "import greeting from 'greeting';\nexport const handler = () => greeting;");
  const create = async (dependency: string) => {
    const name = uniqueName('greet');
    await platform.ok(['function', 'create', name, '--code-file', file, '--dependency', dependency, ...flags]);
    return { name, show: () => platform.json<FunctionView>(['function', 'show', name, ...flags]) };
  };

  const validFunction = await create('greeting@1.0.0');
  const { url } = await validFunction.show();
  const answer = await eventually(
    () => platform.request(url),
    (reply) => reply.status !== 404,
  );
  t.equal(answer.status, 200);
  t.equal(answer.body, 'hello from a package');

  const failingFunction = await create('greeting@2.0.0');
  const lost = await failingFunction.show();
  // A first request can arrive before its route: only one that reaches the interceptor starts a pod.
  const refused = await eventually(
    () => platform.request(lost.url),
    (reply) => reply.status !== 404,
  );
  t.ok(refused.status >= 500, `${refused.status} ${refused.body}`);
  const failed = await eventually(failingFunction.show, ({ status }) => status === 'failed');
  t.match(failed.message, /The dependencies cannot be installed: .*greeting@2\.0\.0/);
});
