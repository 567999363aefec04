import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { installArguments } from '../../infra/install-here.ts';
import { checkGitSource } from '../../runtime/domain/git-source.ts';
import { resolveGitHost } from '../../runtime/git/address.ts';

/** A service of the machine that counts connections. */
async function loopbackService(t: Test, host: string) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  server.listen(0, host);
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** What a git source does before it connects. @throws Problem, GitError */
async function addressesOf(url: string, networks: readonly string[] = []) {
  checkGitSource({ url, branch: 'main' });
  return resolveGitHost(url, networks);
}

/** Spellings of this machine and of networks that only it reaches. */
const hosts = [
  '127.0.0.1',
  '127.1',
  '127.64.0.9',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '017700000001',
  '0177.0.0.1',
  '0.0.0.0',
  '0',
  'localhost',
  'LOCALHOST',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.64.0.1',
  '[fe80::1]',
  '[fd00::1]',
];

t.test('a git source reaches no service of the machine and no private network, in any spelling', async (t) => {
  const service = await loopbackService(t, '127.0.0.1');
  for (const host of hosts) {
    for (const url of [
      `http://${host}:${service.port}/shop/api.git`,
      `https://${host}:${service.port}/shop/api.git`,
      `ssh://git@${host}:${service.port}/shop/api.git`,
      `git@${host}:shop/api.git`,
    ]) {
      await t.rejects(addressesOf(url), url);
    }
  }
  t.equal(service.connections(), 0);
});

t.test('a platform admin opens exactly the networks that the settings name', async (t) => {
  const networks = ['127.0.0.1/32'];
  await t.resolves(addressesOf('http://127.0.0.1:3000/shop/api.git', networks));
  for (const host of ['127.0.0.2', '[::1]', '10.0.0.1']) {
    await t.rejects(
      addressesOf(`http://${host}:3000/shop/api.git`, networks),
      { message: /is in a private network that git sources may not use/ },
      host,
    );
  }
});

t.test('svc up opens no network: the services of a machine are not for the tenants of its platform', (t) => {
  const options = {
    folder: '/home/dana/.svc',
    kubeconfig: '/home/dana/.svc/kubeconfig',
    pushAddress: 'http://127.0.0.1:5000',
    port: 8080,
    references: {},
    failpoints: false,
  };
  t.notOk(installArguments(options).includes('--git-network'));
  const opened = installArguments({ ...options, gitNetworks: ['127.0.0.1', '10.1.0.0/16'] }).join(' ');
  t.match(opened, '--git-network 127.0.0.1 --git-network 10.1.0.0/16');
  t.end();
});
