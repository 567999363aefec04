import t from 'tap';
import { runningPlatform } from '../../support/platform.ts';
import { installationSecrets, placesOf, secretsIn } from '../../support/secret-hunt.ts';

/**
 * After all other tests of a platform: none of its secrets, and no key, token or signing secret that any of the tests was
 * given, is in what the platform wrote meanwhile.
 */
const platform = await runningPlatform();

t.test('no test has left a secret in a log, an Event, a specification, an argument or a store', async (t) => {
  const secrets = await installationSecrets(platform);
  t.ok(secrets.size >= 4, [...secrets.keys()].join(', '));
  const places = await placesOf(platform);
  // On a cluster, disruptive/functions/cluster/logs.test.ts reads the log store while it is enabled.
  const stored = places.get('the files of the log store') ?? '';
  if (platform.info.target === 'local') t.ok(stored.includes('"pod":"console-api-'), 'the log store was read');
  t.same(secretsIn(places, secrets), []);
});
