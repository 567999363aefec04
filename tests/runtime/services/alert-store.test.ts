import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { alertmanager } from '../../../infra/manifests/monitoring/alertmanager.ts';
import { createAlertStore } from '../../../runtime/services/alert-store.ts';
import { freePort } from '../../support/servers.ts';
import { missingProgram } from '../../support/test-programs.ts';

interface Teardown {
  testdir(content: { data: Record<string, never> }): string;
  teardown(end: () => unknown): void;
}

const skip = missingProgram('prometheus-alertmanager');

/** Debian's Alertmanager with the configuration and arguments of the component. */
async function startAlertmanager(t: Teardown): Promise<string> {
  const folder = t.testdir({ data: {} });
  const [, configuration, , server] = alertmanager.objects({ image: 'x', memory: '64Mi' }) as unknown as [
    unknown,
    { data: Record<string, string> },
    unknown,
    { spec: { template: { spec: { containers: [{ args: string[] }] } } } },
  ];
  const file = join(folder, 'alertmanager.yml');
  writeFileSync(file, configuration.data['alertmanager.yml'] ?? '');
  const port = await freePort();
  const changed: Record<string, string> = {
    '--config.file': file,
    '--storage.path': join(folder, 'data'),
    '--web.listen-address': `127.0.0.1:${port}`,
  };
  const args = server.spec.template.spec.containers[0].args.map((argument) => {
    const [name = ''] = argument.split('=');
    return name in changed ? `${name}=${changed[name]}` : argument;
  });
  const program = execFile('prometheus-alertmanager', args);
  const ended = once(program, 'exit');
  t.teardown(async () => {
    program.kill('SIGKILL');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const response = await fetch(`${url}/-/ready`).catch(() => undefined);
    if (response?.ok) return url;
    if (program.exitCode !== null) throw new Error(`Alertmanager ended with ${program.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

t.test('the real Alertmanager lists an alert, silences it, and ends the silence', { skip }, async (t) => {
  const url = await startAlertmanager(t);
  const store = createAlertStore({ alertmanager: url });
  t.same(await store.list(), []);
  const labels = { alertname: 'SvcQueueOld', severity: 'warning', scope: 'platform', queue: 'a "quoted" \\ {name}' };
  const annotations = { summary: 'old' };
  const sent = await fetch(`${url}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([{ labels, annotations }]),
  });
  t.equal(sent.status, 200);
  t.match(await store.list(), { length: 1, 0: { labels, annotations, silenced: false } });
  const now = new Date();
  const silence = {
    labels: { alertname: 'SvcQueueOld', queue: labels.queue },
    createdBy: 'admin@svc.local',
    comment: 'why',
    endsAt: new Date(now.getTime() + 60_000),
  };
  const id = await store.silence(silence, now);
  t.match(await store.silences(), [{ id, ...silence }]);
  for (;;) {
    // Alertmanager applies a silence when it next looks at the alert.
    const [alert] = await store.list();
    if (alert?.silenced) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  t.equal(await store.unsilence(id), true);
  t.same(await store.silences(), []);
  t.equal(await store.unsilence('0a0a0a0a-0000-4000-8000-000000000000'), false);
});
