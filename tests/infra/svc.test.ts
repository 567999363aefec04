import t from 'tap';
import { runSvc } from '../../infra/svc.ts';

const names = ['platform', 'function-node', 'postgres', 'redis'];
const images = names.flatMap((name) => [`--image-${name}`, `registry.test/${name}:1`]);
const install = ['install', '--dry-run', '--apps-domain', 'apps.test', '--cluster', 'home', ...images];

t.test('svc up logs the progress of svc install, but not its result: it prints one of its own', async (t) => {
  const lines: string[] = [];
  await runSvc(install, (line) => lines.push(line));
  t.match(lines, [/^warning: without --ingress-address/]);
  t.equal(lines.length, 1, 'nothing of the manifests');
});

t.test('a command that fails is reported with its whole output', async (t) => {
  const lines: string[] = [];
  await t.rejects(
    runSvc(['install', '--no-such-flag'], (line) => lines.push(line)),
    { message: /^svc install failed with exit code 2:\n.*no-such-flag/s },
  );
  t.match(lines.join('\n'), /no-such-flag/);
});
