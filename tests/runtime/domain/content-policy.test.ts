import t from 'tap';
import { checkCspSources } from '../../../runtime/domain/content-policy.ts';

t.test('a source is a host with an optional scheme, wildcard and port', async (t) => {
  const sources = [
    'cdn.example.com',
    '*.example.com',
    'wss://api.example.com:8443',
    'a.example.com:1',
    'a.example.com:65535',
  ];
  t.same(checkCspSources(sources), sources);
  const refused = ['a.example.com:0', 'a.example.com:65536', "'unsafe-inline'", '*', 'data:', 'a.example.com; x', ''];
  for (const source of refused) {
    t.throws(() => checkCspSources([source]), { code: 'invalid_value', details: { field: 'csp' } }, source);
  }
});

t.test('all sources have at most 2000 characters together', async (t) => {
  // 100 hosts of 19 characters, and the spaces between them, are 1999.
  const hosts = Array.from({ length: 100 }, (_, index) => `a${String(index).padStart(6, '0')}.example.com`);
  t.equal(hosts.join(' ').length, 1_999);
  t.doesNotThrow(() => checkCspSources([...hosts.slice(1), `b${hosts[0]}`]));
  t.throws(() => checkCspSources([...hosts.slice(1), `bc${hosts[0]}`]), { code: 'invalid_value' });
});
