import t from 'tap';
import { isInternalAddress, isPrivateNetwork, networkContains, parseNetwork } from '../../../runtime/domain/network.ts';

t.test('networks and addresses are converted to one form', (t) => {
  const forms: [string, string][] = [
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['255.255.255.255', '255.255.255.255/32'],
    ['2001:DB8:0:0::/32', '2001:db8::/32'],
    ['::', '::/128'],
    ['::/0', '::/0'],
    ['::1', '::1/128'],
    ['1::', '1::/128'],
    ['64:ff9b::192.0.2.0/120', '64:ff9b::c000:200/120'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8/128'],
    ['fe80::/10', 'fe80::/10'],
  ];
  for (const [text, network] of forms) t.same(parseNetwork(text), { network }, text);
  t.end();
});

t.test('host bits are an error that names the network', (t) => {
  const slips: [string, string][] = [
    ['192.0.2.7/24', '192.0.2.0/24'],
    ['10.0.0.1/0', '0.0.0.0/0'],
    ['172.17.0.0/12', '172.16.0.0/12'],
    ['2001:db8::1/64', '2001:db8::/64'],
    ['2001:db8:ffff::/33', '2001:db8:8000::/33'],
  ];
  for (const [text, network] of slips) {
    t.match(parseNetwork(text), { fault: `"${text}" has host bits set; the network is ${network}` });
    t.same(parseNetwork(network), { network });
  }
  t.end();
});

t.test('everything else is refused', (t) => {
  const texts = [
    '',
    '/',
    '/8',
    'localhost',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0/8',
    '010.0.0.1',
    '1.2.3.4.5',
    '1.2.3.256',
    '::/129',
    ':::',
    '1:2:3:4:5:6:7:8:9',
    'fe80::1%eth0',
    '10.0.0.0/8/8',
    ' 10.0.0.1',
    '10.0.0.1\n',
    '10.0.0.0/8 ',
    '::ffff:192.0.2.7',
    '::ffff:0:0/96',
    '0:0:0:0:0:ffff:c000:207/128',
  ];
  for (const text of texts) t.match(parseNetwork(text), { fault: String }, JSON.stringify(text));
  t.match(parseNetwork('::ffff:192.0.2.7'), { fault: /write it as IPv4/ });
  t.end();
});

t.test('a network contains those that are completely inside it', (t) => {
  const cases: [string, string, boolean][] = [
    ['10.0.0.0/8', '10.0.0.0/8', true],
    ['10.0.0.0/8', '10.255.255.255/32', true],
    ['10.0.0.0/8', '11.0.0.0/32', false],
    ['10.0.0.0/8', '0.0.0.0/0', false],
    ['10.0.0.0/9', '10.0.0.0/8', false],
    ['0.0.0.0/0', '203.0.113.7/32', true],
    ['::/0', '203.0.113.7/32', false],
    ['fd00::/8', 'fd12:3456::7/128', true],
    ['fd00::/8', 'fe80::1/128', false],
  ];
  for (const [whole, part, contains] of cases) t.equal(networkContains(whole, part), contains, `${whole} ${part}`);
  t.end();
});

t.test('an internal address is private, loopback or link-local', (t) => {
  for (const address of ['10.1.2.3', '192.168.0.1', '127.0.0.1', '169.254.1.1', '::1', 'fd00::1', 'fe80::1']) {
    t.equal(isInternalAddress(address), true, address);
  }
  for (const address of ['8.8.8.8', '2001:db8::1', '', 'x', '10.1.2.3:80']) t.equal(isInternalAddress(address), false);
  t.end();
});

t.test('private networks are the reserved ranges', (t) => {
  const own = ['10.0.0.0/8', '10.20.0.0/16', '172.16.0.0/12', '192.168.1.1/32', '100.64.0.0/10', 'fd00::/8'];
  const networks = ['10.0.0.0/7', '172.32.0.0/16', '169.254.0.0/16', '127.0.0.0/8', '0.0.0.0/0', '::/0', 'fe80::/10'];
  for (const network of own) t.ok(isPrivateNetwork(network), network);
  for (const network of networks) t.notOk(isPrivateNetwork(network), network);
  t.end();
});
