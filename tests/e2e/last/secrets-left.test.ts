import t from 'tap';
import { runningPlatform } from '../../support/platform.ts';
import { installationSecrets, placesOf } from '../../support/secret-hunt.ts';

/**
 * After all other tests of a platform: none of its secrets, and no key, token or signing secret that any of the tests was
 * given, is in what the platform wrote meanwhile.
 */
const platform = await runningPlatform();

/** Secrets that the platform generates for users have a form of their own: runtime/domain/api-key.ts and access-token.ts. */
const generated = {
  'an API key': /\bsvc_[a-z0-9]{8}_[a-z0-9]{46}\b/,
  'an access token': /\bsvct_[a-z0-9]{8}_[a-z0-9]{46}\b/,
  "a session's token": /\bsvcs_[a-z0-9]{40}\b/,
  "a webhook's token": /\bsvcwh_[a-z0-9]{40}\b/,
  'a signing secret': /\bwhsec_[A-Za-z0-9+/_-]{32,}/,
};

t.test('no test has left a secret in a log, an Event, a specification, an argument or a store', async (t) => {
  const secrets = await installationSecrets(platform);
  t.ok(secrets.size >= 4, [...secrets.keys()].join(', '));
  const places = await placesOf(platform);
  // On a cluster, the log store runs where an admin has enabled it.
  const stored = places.get('the files of the log store') ?? '';
  if (platform.info.target === 'local') t.ok(stored.includes('"pod":"console-api-'), 'the log store was read');
  for (const [place, text] of places) {
    for (const [name, secret] of secrets) t.notOk(text.includes(secret), `${name} in ${place}`);
    for (const [name, form] of Object.entries(generated)) {
      // The message shows where it is without showing it.
      const { index } = form.exec(text) ?? {};
      const before =
        index === undefined ? '' : `, after ${JSON.stringify(text.slice(Math.max(0, index - 120), index))}`;
      t.equal(index, undefined, `${name} in ${place}${before}`);
    }
  }
});
