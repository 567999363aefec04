import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { createPrometheusStore } from '../../../runtime/metrics/prometheus-store.ts';
import { eventually } from '../../support/platform.ts';
import { freePort, untilListening } from '../../support/servers.ts';
import { missingProgram } from '../../support/test-programs.ts';
import { openMetrics } from './scenario.ts';
import { checkMetricsStore } from './store-contract.ts';

t.test('a Prometheus answers as every store of metrics does', { skip: missingProgram('prometheus') }, async (t) => {
  let isUp = false;
  const ingress = createServer((_, response) => {
    response.writeHead(isUp ? 200 : 503, { 'content-type': 'text/plain' }).end('traefik_config_reloads_total 1\n');
  });
  ingress.listen(0, '127.0.0.1');
  await once(ingress, 'listening');
  t.teardown(() => ingress.close());
  const targets = [`127.0.0.1:${(ingress.address() as AddressInfo).port}`];
  const scrape = {
    job_name: 'ingress',
    scrape_interval: '200ms',
    scrape_timeout: '200ms',
    static_configs: [{ targets }],
  };
  const folder = t.testdir({
    'samples.txt': openMetrics(),
    'prometheus.yml': JSON.stringify({ scrape_configs: [scrape] }),
  });
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
  const store = createPrometheusStore({ url });
  await checkMetricsStore(t, store);
  const ingressIs = (state: string) =>
    eventually(
      () => store.ingress(),
      (now) => now === state,
    );
  t.equal(await ingressIs('down'), 'down');
  isUp = true;
  t.equal(await ingressIs('on'), 'on');
});

/** Waits until the server has opened its data. */
async function ready(url: string): Promise<void> {
  for (;;) {
    const { ok } = await fetch(`${url}/-/ready`);
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
