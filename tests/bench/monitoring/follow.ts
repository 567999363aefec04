import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { runningPlatform, uniqueName } from '../../support/platform.ts';
import { printFigure } from '../figure.ts';

const code = `export const handler = () => {
  console.log('printed at ' + Date.now());
  return { statusCode: 200, body: 'ok' };
};
`;
/** Interval of the lines: none waits for another. */
const everyMs = 100;
const waitMs = 60_000;

/**
 * The time from a line of a pod to the terminal that follows it with `svc … logs -f`, on a running platform whose pods run
 * on this machine. The line is printed by a function, since every platform runs one without a build; an app's takes the same
 * way.
 * @param lines how many lines are printed
 */
export async function measureFollow(lines: number): Promise<void> {
  const platform = await runningPlatform();
  const [project, name] = [uniqueName('bench'), uniqueName('follow')];
  const flags = ['--project', project, '--environment', 'prod'];
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-follow-'));
  try {
    writeFileSync(join(folder, 'follow.js'), code);
    await platform.ok(['project', 'create', project, '--environment', 'prod']);
    const file = join(folder, 'follow.js');
    await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
    const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
    const print = async () => (await platform.request(url)).status === 200;
    while (!(await print())) await systemClock.sleep(200);

    const env = { ...process.env, XDG_CONFIG_HOME: platform.configFolder, SVC_API: platform.info.api, NO_COLOR: '1' };
    const follower = spawn(process.execPath, ['cli/svc.js', 'function', 'logs', name, '-f', '--tail', '1', ...flags], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const delays: number[] = [];
      const following = Promise.withResolvers<undefined>();
      let shown = 0;
      createInterface(follower.stdout).on('line', (line) => {
        const [, printed] = /printed at (\d+)/.exec(line) ?? [];
        shown += 1;
        // The first line was printed before.
        if (shown > 1) delays.push(Date.now() - Number(printed));
        following.resolve(undefined);
      });
      await Promise.race([following.promise, systemClock.sleep(waitMs)]);
      const until = performance.now() + waitMs;
      for (let line = 0; line < lines; line++) {
        await print();
        await systemClock.sleep(everyMs);
      }
      while (delays.length < lines && performance.now() < until + lines * everyMs) await systemClock.sleep(50);
      delays.sort((a, b) => a - b);
      const p95 = delays[Math.floor(delays.length * 0.95)] ?? Number.NaN;
      printFigure({
        name: 'monitoring.follow-lost',
        value: lines - delays.length,
        unit: 'lines',
        target: { operator: '==', value: 0 },
      });
      printFigure({ name: 'monitoring.follow-p95', value: p95, unit: 'ms', target: { operator: '<', value: 500 } });
    } finally {
      follower.kill();
    }
  } finally {
    await platform.svc(['project', 'delete', project, '--yes']);
    rmSync(folder, { recursive: true, force: true });
  }
}
