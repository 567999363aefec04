import t from 'tap';
import { clientAddress, clientNetwork, createAddressMatcher } from '../../../runtime/domain/address.ts';

t.test('an address matches the networks that contain it', (t) => {
  const matches = createAddressMatcher(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1/128']);
  const inside = ['10.0.0.0', '10.255.255.255', '192.0.2.7', '2001:db8:ffff::1', '2001:0DB8::1', '::1', '0:0::1'];
  const outside = [
    '11.0.0.0',
    '192.0.2.8',
    '2001:db9::1',
    '::2',
    '',
    'x',
    '10.0.0',
    '10.0.0.256',
    '010.0.0.1',
    ' 10.0.0.1',
  ];
  for (const address of inside) t.equal(matches(address), true, address);
  for (const address of outside) t.equal(matches(address), false, address);
  t.equal(matches(undefined), false);
  t.ok(createAddressMatcher(['0.0.0.0/0'])('8.8.8.8'));
  t.notOk(createAddressMatcher(['0.0.0.0/0'])('2001:db8::1'), 'all of IPv4 is not all of IPv6');
  t.notOk(createAddressMatcher([])('10.0.0.1'));
  for (const wrong of ['10.0.0.1/8', 'x', '', '10.0.0.0/33', '::/129']) {
    t.throws(() => createAddressMatcher([wrong]), /"/, wrong);
  }
  t.end();
});

t.test('the client is the first hop from the right that is not a trusted proxy', (t) => {
  const trusted = createAddressMatcher(['10.0.0.0/8', '2001:db8::/32']);
  const table: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['198.51.100.1', '198.51.100.1'],
    ['203.0.113.9, 198.51.100.1', '198.51.100.1'],
    ['203.0.113.9, 198.51.100.1, 10.0.0.1', '198.51.100.1'],
    ['203.0.113.9,198.51.100.1,10.0.0.2 , 10.0.0.1', '198.51.100.1'],
    ['10.0.0.2, 10.0.0.1', '10.0.0.2'],
    ['10.0.0.9, 198.51.100.1, 10.0.0.1', '198.51.100.1'],
    ['198.51.100.1, garbage', undefined],
    ['garbage, 10.0.0.1', undefined],
    ['198.51.100.1, ', undefined],
    [', 10.0.0.1', undefined],
    ['198.51.100.1, 2001:db8::7', '198.51.100.1'],
    ['2001:db9::1', '2001:db9::1'],
    // Spellings of proxies that write ports, zones, or IPv4 as IPv6.
    ['198.51.100.1:4711', '198.51.100.1'],
    ['198.51.100.1, [2001:db8::7]:443', '198.51.100.1'],
    ['[2001:db9::1]', '2001:db9::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['203.0.113.9, ::FFFF:0a00:0001', '203.0.113.9'],
    ['0:0:0:0:0:ffff:198.51.100.1', '198.51.100.1'],
    ['[', undefined],
    ['[::1', undefined],
    ['[]', undefined],
    ['%eth0', undefined],
    [',,', undefined],
    ['::ffff:1:2', '0.1.0.2'],
    ['::fffe:1:2', '::fffe:1:2'],
  ];
  for (const [chain, expected] of table) t.equal(clientAddress(chain, trusted), expected, chain ?? 'no header');
  const chain = (hops: number) => ['198.51.100.1', ...Array.from({ length: hops }, () => '10.0.0.1')].join(',');
  t.equal(clientAddress(chain(31), trusted), '198.51.100.1');
  t.equal(clientAddress(chain(32), trusted), undefined, 'more than 32 hops');
  t.equal(clientAddress(chain(100_000), trusted), undefined, 'a forged chain');
  t.end();
});

t.test('a client is an IPv4 address, or the first half of an IPv6 address in one spelling', (t) => {
  for (const [address, network] of [
    ['198.51.100.7', '198.51.100.7'],
    ['::ffff:198.51.100.7', '::ffff:198.51.100.7'],
    ['unknown', 'unknown'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001::7', '2001:db8:1:0'],
    ['2001:db8::1:2:3:4:5', '2001:db8:0:1'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['fe80::', 'fe80:0:0:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4'],
  ] as const) {
    t.equal(clientNetwork(address), network, address);
  }
  t.equal(clientNetwork('2001:0DB8::7', 48), '2001:db8:0');
  t.equal(clientNetwork('198.51.100.7', 48), '198.51.100.7');
  t.end();
});
