import t from 'tap';
import {
  parseTrustedProxies,
  trustedProxyArguments,
  withTrustedProxies,
} from '../../../runtime/domain/trusted-proxies.ts';

t.test('a process reads its own arguments', async (t) => {
  const trusted = parseTrustedProxies(trustedProxyArguments(['10.0.0.0/8', '2001:db8::7/128']));
  t.same(['10.1.2.3', '2001:db8::7', '192.0.2.1', undefined].map(trusted), [true, true, false, false]);
  t.notOk(parseTrustedProxies([])('10.1.2.3'), 'no proxy is trusted by default');
  t.throws(() => parseTrustedProxies(['--trusted-proxy', '10.0.0.1/8']), /--trusted-proxy: .*host bits/);
  t.throws(() => parseTrustedProxies(['--trusted-proxies', '10.0.0.0/8']), /Unknown option/);
});

t.test('only these arguments of a command change', async (t) => {
  const command = ['tini', '--', 'node', 'main.ts', '--trusted-proxy', '192.0.2.1', '--other', 'x'];
  t.same(withTrustedProxies(command, []), ['tini', '--', 'node', 'main.ts', '--other', 'x']);
  const changed = withTrustedProxies(command, ['10.0.0.0/8']);
  t.same(changed, ['tini', '--', 'node', 'main.ts', '--other', 'x', '--trusted-proxy', '10.0.0.0/8']);
  t.same(withTrustedProxies(changed, ['10.0.0.0/8']), changed, 'and a repetition changes nothing');
});
