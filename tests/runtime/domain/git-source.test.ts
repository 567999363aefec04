import t from 'tap';
import {
  addressOfGit,
  checkBranchName,
  checkCommit,
  checkGitSource,
  gitPatterns,
  hostOfGit,
} from '../../../runtime/domain/git-source.ts';

const source = { url: 'https://git.example.com/shop/api.git', branch: 'main' };
const refused = (part: object, field: string) =>
  t.throws(
    () => checkGitSource({ ...source, ...part }),
    { code: 'invalid_value', details: { field } },
    JSON.stringify(part),
  );

t.test('addresses over https, http and ssh are accepted unchanged', async (t) => {
  for (const url of [
    'https://github.com/shop/api',
    'http://10.0.0.7:3000/shop/api.git',
    'https://git.example.com:8443/~team/a%20b.git',
    'ssh://git@git.example.com/shop/api.git',
    'ssh://git.example.com:2222/shop/api.git',
    'git@git.example.com:shop/api.git',
    'https://[2001:db8::1]/x.git',
  ]) {
    t.equal(checkGitSource({ ...source, url }).url, url);
    t.match(url, new RegExp(gitPatterns.url), 'the custom resource accepts it too');
  }
});

t.test('other protocols, credentials and texts that look like options are refused', async () => {
  for (const url of [
    'file:///etc/passwd',
    '/srv/repo.git',
    './repo',
    '../repo',
    'ext::sh -c id',
    'git://git.example.com/x.git',
    'git+ssh://git.example.com/x',
    'ftp://git.example.com/x',
    'fd::3',
    'https::http://git.example.com/x',
    '-uexec',
    '--upload-pack=id',
    'ssh://-oProxyCommand=id/x',
    'ssh://git@-oProxyCommand=id/x',
    'git@-oProxyCommand=id:x',
    '-oProxyCommand=id@host:x',
    'git@git.example.com:-x',
    'https://user@git.example.com/x',
    'https://user:secret@git.example.com/x',
    'https://token@git.example.com/x',
    'ssh://git:secret@git.example.com/x',
    'https://git.example.com',
    'https://git.example.com/x?y=1',
    'https://git.example.com/x#y',
    'https://git.example.com/x y',
    'https://git.example.com/$(id)',
    'https://git.example.com/x;id',
    'https://git.example.com/`id`',
    'https://git.example.com/x\nid',
    'HTTPS://git.example.com/x',
    `https://git.example.com/${'x'.repeat(600)}`,
    'https://git.example.com:65536/shop/api.git',
    'ssh://git@git.example.com:99999/shop/api.git',
    'https://999.1.1.1/shop/api.git',
    'https://[:::]/shop/api.git',
    '',
  ]) {
    refused({ url }, 'url');
  }
});

t.test('a URL with credentials is refused, and the message mentions them', async (t) => {
  for (const url of ['https://token@git.example.com/x', 'ssh://git:secret@git.example.com/x']) {
    t.throws(() => checkGitSource({ ...source, url }), { message: /^The URL contains a user name or password; / }, url);
  }
  t.throws(() => checkGitSource({ ...source, url: 'ssh://git@-x/y' }), { message: /is not a repository URL/ });
});

t.test('each field has a maximum length', async (t) => {
  const { length } = 'https://git.example.com/';
  const longest = (more: number) => ({
    url: `https://git.example.com/${'x'.repeat(512 - length + more)}`,
    branch: 'x'.repeat(244 + more),
    path: 'x'.repeat(400 + more),
    dockerfile: 'x'.repeat(400 + more),
  });
  t.same(checkGitSource(longest(0)), longest(0));
  for (const [field, value] of Object.entries(longest(1))) refused({ [field]: value }, field);
});

t.test('host keys are public keys, at most 20', async () => {
  const key = `ssh-ed25519 ${'A'.repeat(68)}`;
  const keys = (count: number) => Array.from({ length: count }, () => key);
  checkGitSource({ ...source, hostKeys: keys(20) });
  refused({ hostKeys: keys(21) }, 'hostKeys');
  refused({ hostKeys: [key, 'ssh-ed25519'] }, 'hostKeys');
});

t.test('the server of a repository, and what its credentials belong to', async (t) => {
  for (const [url, address, credentials] of [
    ['https://Git.example.com/x', ['git.example.com', 443, false], 'https://git.example.com:443'],
    ['http://git.example.com/x', ['git.example.com', 80, false], 'http://git.example.com:80'],
    ['https://[2001:db8::1]:8443/x', ['2001:db8::1', 8443, false], 'https://2001:db8::1:8443'],
    ['ssh://git@git.example.com/x', ['git.example.com', 22, true], 'ssh://git.example.com:22'],
    ['ssh://git.example.com:2222/x', ['git.example.com', 2222, true], 'ssh://git.example.com:2222'],
    ['git@Git.example.com:x', ['git.example.com', 22, true], 'ssh://git.example.com:22'],
    ['git@[2001:db8::1]:x', ['2001:db8::1', 22, true], 'ssh://2001:db8::1:22'],
  ] as const) {
    const { host, port, overSsh } = addressOfGit(url);
    t.same([host, port, overSsh], address, url);
    t.equal(hostOfGit(url), credentials);
  }
});

t.test('a branch to compare with is any name that git allows', async (t) => {
  for (const branch of ['main', 'fix/#12-ä', 'a@b']) t.equal(checkBranchName(branch), branch);
  for (const branch of ['a b', '/main', 'main/', '-x', 'a..b', 'a@{1}', 'a*', 'a.']) {
    t.throws(() => checkBranchName(branch), { code: 'invalid_value', details: { field: 'branch' } }, branch);
  }
});

t.test('a branch is a name that is safe for git, a shell and a log', async (t) => {
  for (const branch of ['main', 'release/2.1', 'feature/a+b@c', 'v1', '_x', 'refs/heads/main']) {
    t.equal(checkGitSource({ ...source, branch }).branch, branch);
  }
  for (const branch of [
    '',
    '-x',
    '--upload-pack=id',
    '/x',
    'x/',
    'a//b',
    'a..b',
    'a.lock',
    'a.lock/b',
    'a.',
    'a./b',
    '.a',
    'a/.b',
    'a b',
    'a;id',
    '$(id)',
    '`id`',
    'a|b',
    'a&b',
    'a>b',
    'a\nb',
    'a@{1}',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    'a/-b',
    'ä',
    'x'.repeat(245),
  ]) {
    refused({ branch }, 'branch');
  }
});

t.test('folder and Dockerfile are inside the repository', async (t) => {
  for (const path of ['api', 'services/api', '.docker/api', 'a/@scope/b-c', 'a..b']) {
    t.equal(checkGitSource({ ...source, path, dockerfile: path }).path, path);
  }
  for (const path of [
    '',
    '/',
    '/etc',
    '..',
    '../x',
    'a/../../x',
    'a/..',
    '.',
    './a',
    '-x',
    'a/-x',
    'a//b',
    '.git',
    'a/.GIT/x',
    'a b',
    '$HOME',
    'a;b',
    'a\0b',
  ]) {
    refused({ path }, 'path');
    refused({ dockerfile: path }, 'dockerfile');
  }
  t.throws(() => checkGitSource({ ...source, path: '.' }), { message: /or none for the root\.$/ });
  t.throws(() => checkGitSource({ ...source, dockerfile: '.' }), { message: /like docker\/Dockerfile\.$/ });
});

t.test('a commit is a hash, whole or shortened', async (t) => {
  for (const commit of ['abcdef1', 'a'.repeat(40), 'f'.repeat(64)]) t.equal(checkCommit(commit), commit);
  for (const commit of [
    '',
    'main',
    'HEAD',
    'ABCDEF1',
    'abcdef',
    'a'.repeat(41),
    '-abcdef1',
    'abcdef1;id',
    'abcdef1^',
  ]) {
    t.throws(() => checkCommit(commit), { code: 'invalid_value' });
  }
  const excerpt = `"a${'x'.repeat(99)}" is not a commit; use 7 to 40 lower-case hexadecimal digits.`;
  t.throws(() => checkCommit(`a${'x'.repeat(200)}`), { message: excerpt });
});
