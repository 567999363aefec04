import t from 'tap';
import { node } from '../../infra/testcluster/settings.ts';
import { gitServer } from '../support/git-server.ts';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';
import { noSshServer, sshGitServer } from '../support/ssh-server.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;
/** Where pods reach this machine. */
const host = platform.info.target === 'cluster' ? node.address : '127.0.0.1';
const token = 'glpat-e2e-7f3k9q2m5x';
const skip = { skip: noSshServer };

interface Entry {
  revision: number;
  image: string;
  commit?: string;
  trigger: string;
  status: string;
  reason?: string;
  current: boolean;
}

/** The address of the app, which has one once the controllers have seen it. */
async function urlOf(flags: string[]): Promise<string> {
  const show = () => platform.json<{ url?: string }>(['app', 'show', 'api', ...flags]);
  const { url = '' } = await eventually(show, (app) => app.url !== undefined);
  return url;
}

/** A program without a Dockerfile that answers with one word. */
const program = (word: string) => ({
  'services/api/package.json': JSON.stringify({ name: 'api', scripts: { start: 'node server.mjs' } }),
  'services/api/server.mjs': `import { createServer } from 'node:http';
createServer((_request, response) => response.end('${word}')).listen(Number(process.env.PORT));
`,
});

/** The same in Python. */
const pythonProgram = (word: string) => ({
  'requirements.txt': '# nothing\n',
  'main.py': `import os
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"${word}")


HTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
`,
});

t.test('a commit on the branch is built and deployed, until the source is removed', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const repository = await gitServer(t, { host, token });
  const first = repository.push(program('one'), { message: 'Say one' });
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), '--no-wait', ...flags]);
  const url = await urlOf(flags);
  const serves = (word: string) =>
    eventually(
      () => platform.request(url),
      ({ status, body }) => status === 200 && body.includes(word),
    );
  const newest = (holds: (entry: Entry) => boolean) =>
    eventually(
      async () => (await platform.json<Entry[]>(['app', 'history', 'api', ...flags]))[0],
      (entry) => entry !== undefined && holds(entry),
    );

  const set = ['app', 'git', 'set', 'api', '--url', repository.url(), '--path', 'services/api'];
  const source = await platform.ok([...set, '--token-file', '-', ...flags], token);
  t.match(source, /Credentials:\s+token/);
  t.notMatch(source, token);
  await serves('one');
  t.match(await newest(({ status }) => status === 'succeeded'), { revision: 2, trigger: 'git', commit: first });

  const refused = await platform.svc(['app', 'update', 'api', '--image', hello('v2'), ...flags]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /git_source_configured/);

  const second = repository.push(program('two'), { message: 'Say two' });
  await platform.ok(['app', 'git', 'sync', 'api', ...flags]);
  await serves('two');
  t.match(await newest(({ status }) => status === 'succeeded'), { revision: 3, trigger: 'git', commit: second });

  repository.push({ 'services/api/package.json': '{"name": "api"}' }, { message: 'Break it' });
  await platform.ok(['app', 'git', 'sync', 'api', ...flags]);
  const failedDeployment = await newest(({ status, revision }) => revision === 4 && status === 'failed');
  t.match(failedDeployment?.reason, /has no script "start"/, 'the last line of the log is the reason');
  await serves('two');

  await platform.ok(['app', 'git', 'remove', 'api', ...flags]);
  t.match(await platform.ok(['app', 'git', 'status', 'api', ...flags]), /none/);
  await platform.ok(['app', 'update', 'api', '--image', hello('v2'), ...flags]);
  await serves('v2');

  const remaining = await platform.kubectl('-n', 'svc-builds', 'get', 'sbuild,jobs.batch,pods,secrets', '-o', 'json');
  t.notMatch(remaining.stdout, namespace, 'builds leave only their logs');
  t.notMatch(remaining.stdout, Buffer.from(token).toString('base64'));
});

t.test('an app is built from a repository over ssh; errors of the key or the server are reported', skip, async (t) => {
  const { flags } = await testProject(t, platform);
  const repository = await sshGitServer(t, { host });
  repository.push(pythonProgram('Python by ssh'));
  const [key, other] = [repository.makeKey('deploy'), repository.makeKey('other')];
  repository.admit(key.publicKey);
  const source = ['--deploy-key-file', '-', ...flags];
  const create = ['app', 'create', 'api', '--git', repository.url, '--wait', ...source];
  const refused = await platform.svc(create, other.privateKey);
  t.match(refused, { code: 1, stderr: /refused the deploy key.*git_source.*svc app git set api/s }, 'soon');

  const set = ['app', 'git', 'set', 'api', '--url', repository.url];
  const view = await platform.ok([...set, ...source], key.privateKey);
  t.match(view, `Public key:   ${key.publicKey}`);
  const url = await urlOf(flags);
  await eventually(
    () => platform.request(url),
    ({ status, body }) => status === 200 && body.includes('Python by ssh'),
  );

  await repository.changeHostKey();
  await platform.ok(['app', 'git', 'sync', 'api', ...flags]);
  const status = () => platform.ok(['app', 'git', 'status', 'api', ...flags]);
  const changed = await eventually(status, (text) => /Error: /.test(text));
  t.match(
    changed,
    /Host keys: +ssh-ed25519 SHA256:\S+ \(first seen\)\n(.*\n)*Error: +.*host key of the git server changed \(SHA256:/,
  );
  await platform.ok([...set, '--new-host-key', ...flags]);
  await eventually(status, (text) => /Last poll: (?!.*not yet)/.test(text) && !/Error: /.test(text));
});
