import { Problem } from '../../runtime/domain/problem.ts';
import { jsonOf } from '../../runtime/http/body.ts';

const formType = 'application/x-www-form-urlencoded';

/**
 * The JSON of a request: its body, or the field `payload` of a form, which is the default format of GitHub and Gitea. An
 * empty body counts as `{}`.
 * @throws Problem `unsupported_media_type`, `invalid_json`
 */
export function readWebhookBody(rawBody: Buffer, contentType: string | undefined): unknown {
  if (rawBody.length === 0) return {};
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === formType) {
    const payload = new URLSearchParams(rawBody.toString('utf8')).get('payload');
    if (payload !== null) return jsonOf(Buffer.from(payload));
  } else if (type === 'application/json' || /^application\/[a-z0-9.-]+\+json$/.test(type)) {
    return jsonOf(rawBody);
  }
  throw new Problem('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.');
}
