import t from 'tap';
import { createAddressMatcher } from '../../../runtime/domain/address.ts';
import { mayBeSentTo } from '../../../runtime/domain/public-address.ts';

const matchNone = createAddressMatcher([]);

t.test('only public addresses are allowed', async (t) => {
  const open = [
    '1.1.1.1',
    '168.63.129.15',
    '168.63.129.17',
    '8.8.8.8',
    '100.63.0.1',
    '172.32.0.1',
    '192.0.3.1',
    '198.20.0.1',
    '223.255.255.255',
  ];
  for (const address of [...open, '2606:4700::1111', '2a00:1450::1', '::ffff:1.1.1.1', '64:ff9b::101:101']) {
    t.equal(mayBeSentTo(address, matchNone), true, address);
  }
  const closed = [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.0.1',
    '169.254.169.254',
    '168.63.129.16',
    '::ffff:168.63.129.16',
    '64:ff9b::a83f:8110',
    '100.100.100.200',
    'fd20:ce::254',
    '172.16.0.1',
    '172.31.9.9',
    '192.168.1.1',
    '192.0.0.192',
    '198.18.0.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.1.1.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    'fec0::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:a9fe:a9fe',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '::7f00:1',
    '64:ff9b::7f00:1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::a00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    '100::1',
    'localhost',
    '',
    '127.1',
  ];
  for (const address of closed) t.equal(mayBeSentTo(address, matchNone), false, address);
});

t.test('networks that the admin allowed are open in every spelling, and no other', async (t) => {
  const allowed = createAddressMatcher(['10.1.0.0/16', '127.0.0.1', 'fd00::/64']);
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '64:ff9b::10.1.2.3', '127.0.0.1', 'fd00::7']) {
    t.equal(mayBeSentTo(address, allowed), true, address);
  }
  for (const address of ['10.2.0.1', '127.0.0.2', '::1', 'fd00:0:0:1::1', '169.254.169.254']) {
    t.equal(mayBeSentTo(address, allowed), false, address);
  }
});
