import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { createPrometheusStore } from '../../../runtime/metrics/prometheus-store.ts';
import { freePort, untilListening } from '../../support/servers.ts';
import { missingProgram } from '../../support/test-programs.ts';
import { openMetrics } from './scenario.ts';
import { checkMetricsStore } from './store-contract.ts';

t.test('a Prometheus answers as every store of metrics does', { skip: missingProgram('prometheus') }, async (t) => {
  const folder = t.testdir({ 'samples.txt': openMetrics(), 'prometheus.yml': 'scrape_configs: []\n' });
  const data = join(folder, 'data');
  const blocks = ['tsdb', 'create-blocks-from', 'openmetrics', join(folder, 'samples.txt'), data];
  const filled = spawnSync('promtool', blocks, { encoding: 'utf8' });
  t.equal(filled.status, 0, filled.stderr);
  const port = await freePort();
  const server = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${data}`,
      '--storage.tsdb.retention.time=10y',
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  t.teardown(async () => {
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
  });
  await untilListening(port);
  const url = `http://127.0.0.1:${port}`;
  await ready(url);
  await checkMetricsStore(t, createPrometheusStore({ url }));
});

/** Waits until the server has opened its data. */
async function ready(url: string): Promise<void> {
  for (;;) {
    const { ok } = await fetch(`${url}/-/ready`);
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
