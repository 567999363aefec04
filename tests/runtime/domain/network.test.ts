import t from 'tap';
import { parseNetwork } from '../../../runtime/domain/network.ts';

t.test('networks and addresses are read into one form', (t) => {
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

t.test('host bits are a mistake that names the network', (t) => {
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
    ...['', '/', '/8', 'localhost', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/08', '10.0.0/8', '010.0.0.1'],
    ...['1.2.3.4.5', '1.2.3.256', '::/129', ':::', '1:2:3:4:5:6:7:8:9', 'fe80::1%eth0', '10.0.0.0/8/8', ' 10.0.0.1'],
    ...['10.0.0.1\n', '10.0.0.0/8 ', '::ffff:192.0.2.7', '::ffff:0:0/96', '0:0:0:0:0:ffff:c000:207/128'],
  ];
  for (const text of texts) t.match(parseNetwork(text), { fault: String }, JSON.stringify(text));
  t.match(parseNetwork('::ffff:192.0.2.7'), { fault: /write it as IPv4/ });
  t.end();
});
