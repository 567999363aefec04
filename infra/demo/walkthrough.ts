import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunInfo } from '../run-info.ts';
import type { Transcript } from './transcript.ts';

const scope = ['--project', 'shop', '--environment', 'prod'];
const code = `export async function handler(event, context) {
  return { statusCode: 200, body: \`hello, \${context.query.name ?? 'world'}\\n\` };
}
`;

const tick = `export async function handler(event, context) {
  console.log(\`\${context.trigger} run of "\${event.schedule}", due at \${event.time}\`);
}
`;

/**
 * Shows the first steps with the platform: an app, an API key, a webhook, functions. Their objects stay. If the walkthrough
 * has completed before, it only signs in, unless `again` is set: then it deletes the project and starts over.
 * @param folder for the walkthrough's files
 * @returns whether the steps ran
 */
export async function walkthrough(
  transcript: Transcript,
  info: RunInfo,
  folder: string,
  { again }: { again: boolean },
): Promise<boolean> {
  const doneFile = join(folder, 'done');
  await signIn(transcript, info);
  const projects = JSON.parse(await transcript.quiet(['project', 'list', '-o', 'json'])) as { name: string }[];
  const exists = projects.some(({ name }) => name === 'shop');
  if (exists && existsSync(doneFile) && !again) return false;
  rmSync(doneFile, { force: true });
  if (exists) await transcript.quiet(['project', 'delete', 'shop', '--yes']);
  const hello = `${info.target === 'local' ? 'svc' : 'localhost:5000/svc'}/hello`;
  const url = await app(transcript, hello);
  await gate(transcript, url);
  await webhook(transcript, info, { url, image: `${hello}:v2` });
  await serverlessFunction(transcript, folder);
  await cronFunction(transcript, folder);
  writeFileSync(doneFile, '');
  return true;
}

async function signIn(transcript: Transcript, info: RunInfo): Promise<void> {
  transcript.heading('Sign in', 'Sign in as the platform admin, with the password that `svc install` generated.');
  await transcript.svc(['login', '--api', info.api, '--email', info.adminEmail, '--password-stdin'], {
    input: readFileSync(info.adminPasswordFile, 'utf8'),
    show: `svc login --api ${info.api} --email ${info.adminEmail} --password-stdin < admin-password`,
  });
}

async function app(transcript: Transcript, image: string): Promise<string> {
  transcript.heading(
    'Deploy an app',
    'Create a project with one environment, and run a container image in it. The app gets a public URL.',
  );
  await transcript.svc(['project', 'create', 'shop', '--environment', 'prod']);
  await transcript.svc(['app', 'create', 'api', '--image', `${image}:v1`, '--port', '8080', ...scope]);
  const { url } = JSON.parse(await transcript.svc(['app', 'show', 'api', '-o', 'json', ...scope])) as { url: string };
  await transcript.curl(url);
  return url;
}

async function gate(transcript: Transcript, url: string): Promise<void> {
  transcript.heading(
    'Require an API key',
    'Turn the gate on: the app answers 401 without a key, 200 with one, and 429 once the key exceeds its plan of 2 requests a second. A disabled key gets 401 again.',
  );
  await transcript.svc(['app', 'gate', 'enable', 'api', ...scope]);
  await transcript.svc(['plan', 'create', 'small', '--rate', '2', '--burst', '3', ...scope]);
  const key = await transcript.svc(['key', 'create', '--plan', 'small', '--name', 'first customer', ...scope]);
  const headers = { 'X-API-Key': key };
  await transcript.until(url, 401);
  await transcript.curl(url);
  await transcript.until(url, 200, { headers });
  await transcript.curl(url, { headers });
  await transcript.until(url, 429, { headers });
  await transcript.curl(url, { headers });
  const handle = key.split('_')[1] ?? '';
  await transcript.svc(['key', 'disable', handle, ...scope]);
  await transcript.until(url, 401, { headers });
  await transcript.curl(url, { headers });
  await transcript.svc(['app', 'gate', 'disable', 'api', ...scope]);
  await transcript.until(url, 200);
}

async function webhook(
  transcript: Transcript,
  info: RunInfo,
  { url, image }: { url: string; image: string },
): Promise<void> {
  transcript.heading(
    'Deploy by webhook and roll back',
    'CI calls the webhook after it has pushed an image: version 2 replaces version 1 without a gap. Then roll back to version 1.',
  );
  await transcript.svc(['app', 'webhook', 'enable', 'api', ...scope]);
  const { url: hook, token } = JSON.parse(
    await transcript.svc(['app', 'webhook', 'status', 'api', '-o', 'json', ...scope]),
  ) as { url: string; token: string };
  const accepted = await transcript.curl(hook, {
    method: 'POST',
    headers: { 'X-Svc-Token': token, 'Content-Type': 'application/json' },
    body: JSON.stringify({ image, commit: '4c0ffee' }),
  });
  const { id } = JSON.parse(accepted.body) as { id: string };
  await waitForDeployment(transcript, `${info.api}/api/v1/projects/shop/deployments/${id}`, token);
  await transcript.curl(url);
  await transcript.svc(['app', 'history', 'api', ...scope]);
  await transcript.svc(['app', 'rollback', 'api', ...scope]);
  await transcript.curl(url);
  await transcript.svc(['app', 'history', 'api', ...scope]);
}

/** Waits until the deployment has finished and shows it. */
async function waitForDeployment(transcript: Transcript, statusUrl: string, token: string): Promise<void> {
  await transcript.svc(['app', 'history', 'api', '--wait', ...scope]);
  await transcript.curl(statusUrl, { headers: { 'X-Svc-Token': token } });
}

async function serverlessFunction(transcript: Transcript, folder: string): Promise<void> {
  transcript.heading(
    'Run a function from zero',
    'A function has no pod until a request arrives. The first request waits for its cold start, the second does not.',
  );
  const file = join(folder, 'hello.js');
  writeFileSync(file, code);
  const create = ['function', 'create', 'hello', '--runtime', 'node'];
  await transcript.svc([...create, '--code-file', file, '--idle-timeout', '10s', ...scope], {
    show: `svc ${create.join(' ')} --code-file hello.js --idle-timeout 10s ${scope.join(' ')}`,
  });
  const { url } = JSON.parse(await transcript.svc(['function', 'show', 'hello', '-o', 'json', ...scope])) as {
    url: string;
  };
  await transcript.curl(`${url}/?name=first`);
  await transcript.curl(`${url}/?name=second`);
  await transcript.svc(['function', 'list', ...scope]);
  transcript.heading('Scale back to zero', 'The function stops ten seconds after its last request.');
  await waitForZero(transcript);
  await transcript.svc(['function', 'list', ...scope]);
}

/** Waits, without showing it, until the function has no pod. */
async function waitForZero(transcript: Transcript): Promise<void> {
  for (;;) {
    const output = await transcript.quiet(['function', 'show', 'hello', '-o', 'json', ...scope]);
    if ((JSON.parse(output) as { replicas: number }).replicas === 0) return;
  }
}

async function cronFunction(transcript: Transcript, folder: string): Promise<void> {
  transcript.heading(
    'Run a function on a schedule',
    'This function runs every minute and has no URL. `svc function test` runs it once, immediately.',
  );
  const file = join(folder, 'tick.js');
  writeFileSync(file, tick);
  const create = ['function', 'create', 'tick', '--trigger', 'cron', '--schedule', '* * * * *'];
  await transcript.svc([...create, '--code-file', file, ...scope], {
    show: `svc function create tick --trigger cron --schedule '* * * * *' --code-file tick.js ${scope.join(' ')}`,
  });
  const run = JSON.parse(await transcript.svc(['function', 'test', 'tick', '-o', 'json', ...scope])) as {
    name: string;
  };
  await transcript.svc(['function', 'logs', 'tick', '--run', run.name, ...scope]);
  await transcript.svc(['function', 'list', ...scope]);
}
