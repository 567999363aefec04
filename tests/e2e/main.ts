import { parseArgs } from 'node:util';
import { createSuite } from '../suite.ts';
import { noKubectl } from '../support/kubectl.ts';
import { bringUp, endToEnd, endToEndFiles, targetNames, type TargetName, type TestPlatform } from './targets.ts';

/**
 * `npm run e2e -- --target local|cluster [--keep] [files…]`: runs the end-to-end tests on one target. With SVC_HOME they
 * use the platform in that folder; without it, a platform is started and, unless `--keep` is given, stopped afterwards.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { target: { type: 'string', default: 'local' }, keep: { type: 'boolean', default: false } },
});
const target = targetNames.find((name) => name === values.target);
if (target === undefined) throw new Error(`--target is ${targetNames.join(' or ')}, not "${values.target}"`);
if (target === 'local' && noKubectl) throw new Error(`the tests call kubectl: ${noKubectl}`);
await runOn(target);

async function runOn(name: TargetName): Promise<void> {
  const suite = createSuite();
  const folder = process.env['SVC_HOME'];
  let platform: TestPlatform | undefined;
  await suite.attempt(`the platform on target ${name}`, async () => {
    platform = await bringUp(name, { folder, keep: values.keep, log: suite.say });
    const all = Object.values(endToEndFiles(name)).flat();
    await endToEnd(suite, name, platform.env, positionals.length > 0 ? positionals : all);
  });
  if (platform && values.keep) suite.say(`the platform keeps running: SVC_HOME=${platform.env['SVC_HOME']}`);
  else if (platform && folder === undefined) await suite.attempt('taking the platform down', platform.remove);
  suite.end();
}
