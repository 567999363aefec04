import t from 'tap';
import { maskSecrets } from '../../infra/demo/transcript.ts';
import { generateAccessToken } from '../../runtime/domain/access-token.ts';
import { generateApiKey, generateSessionToken, generateWebhookToken } from '../../runtime/domain/api-key.ts';
import { generatePassword } from '../../runtime/domain/password.ts';
import { newWebhookSecret } from '../../runtime/domain/standard-webhooks.ts';

t.test('a recording shows no secret that the platform prints', (t) => {
  const [key, access] = [generateApiKey(), generateAccessToken()];
  const [token, session, signing] = [generateWebhookToken(), generateSessionToken(), newWebhookSecret()];
  const text = [
    `Key: ${key.key}`,
    `SVC_TOKEN=${access.token}`,
    `Token: ${token}`,
    `Secret URL: https://console.test/api/v1/webhook/shop-prod/api/${token}?wait=1`,
    `{"token":"${session}"}`,
    `Signing secret: ${signing}`,
    `it is not shown again and expires in 7 days: ${generatePassword()}`,
    'DATABASE_URL=postgresql://api_main:Vx8-q_2@main.shop-prod.svc:5432/api',
  ].join('\n');
  t.equal(
    maskSecrets(text),
    [
      `Key: svc_${key.handle}_…`,
      `SVC_TOKEN=svct_${access.handle}_…`,
      'Token: svcwh_…',
      'Secret URL: https://console.test/api/v1/webhook/shop-prod/api/svcwh_…?wait=1',
      '{"token":"svcs_…"}',
      'Signing secret: whsec_…',
      'it is not shown again and expires in 7 days: …',
      'DATABASE_URL=postgresql://api_main:…@main.shop-prod.svc:5432/api',
    ].join('\n'),
  );
  t.end();
});

t.test('what is no secret stays', (t) => {
  const text = `api--shop-prod.apps.localhost:8081 019a0000-0000-7000-8000-000000000003
http://console.apps.localhost:8080/ svc app create api git@github.com:shop/api.git
a-release-named-after-three-birds 2026-11-26T03:47:30Z sha256:${'a'.repeat(64)}`;
  t.equal(maskSecrets(text), text);
  t.end();
});
