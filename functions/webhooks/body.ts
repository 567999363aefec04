import { Problem } from '../../runtime/domain/problem.ts';
import { jsonOf } from '../../runtime/host/http-body.ts';

const form = 'application/x-www-form-urlencoded';

/**
 * The JSON that a sender sent: as the body, or as the field `payload` of a form, which is what GitHub and Gitea send when
 * nobody has chosen JSON. An empty body counts as `{}`.
 * @throws Problem `unsupported_media_type`, `invalid_json`
 */
export function readWebhookBody(rawBody: Buffer, contentType: string | undefined): unknown {
  if (rawBody.length === 0) return {};
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === form) {
    const payload = new URLSearchParams(rawBody.toString('utf8')).get('payload');
    if (payload !== null) return jsonOf(Buffer.from(payload));
  } else if (type === 'application/json' || /^application\/[a-z0-9.-]+\+json$/.test(type)) {
    return jsonOf(rawBody);
  }
  throw new Problem('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.');
}
