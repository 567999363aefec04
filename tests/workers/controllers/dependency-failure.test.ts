import t from 'tap';
import { dependencyFailure } from '../../../workers/controllers/dependency-failure.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';

function podWith(message: string): Pod {
  const terminated = { exitCode: 1, message };
  const status = { name: 'dependencies', ready: false, restartCount: 1, state: { terminated } };
  return { metadata: { name: 'hello-1' }, status: { initContainerStatuses: [status] } } as Pod;
}

t.test('an untrusted certificate of the registry comes with the setting that adds one', (t) => {
  const npm = 'code SELF_SIGNED_CERT_IN_CHAIN\nrequest to https://registry.npmjs.org/lodash failed\n';
  const pip =
    "ERROR: SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))\n";
  for (const message of [npm, pip]) {
    const failure = dependencyFailure(podWith(message)) ?? '';
    t.match(failure, 'svc platform config set --ca-file <file>');
    t.match(failure, message.split('\n')[0] ?? '');
  }
  t.notMatch(dependencyFailure(podWith('code E404\n404 Not Found\n')), '--ca-file');
  t.end();
});
