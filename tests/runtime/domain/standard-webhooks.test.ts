import t from 'tap';
import { newWebhookSecret, signWebhook, webhookHeaders } from '../../../runtime/domain/standard-webhooks.ts';

t.test("the specification's own example has its signature", async (t) => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
  t.equal(signWebhook(secret, message), signature);
  t.equal(signWebhook(secret, { ...message, body: Buffer.from(message.body) }), signature);
  t.same(webhookHeaders(secret, message), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': signature,
  });
});

t.test('secrets are 32 bytes in base64, and no two are the same', async (t) => {
  const [one, other] = [newWebhookSecret(), newWebhookSecret()];
  t.match(one, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.not(one, other);
});
