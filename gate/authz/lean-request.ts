import { IncomingMessage, type IncomingHttpHeaders } from 'node:http';

/** The headers that the checker judges by, and those that node:http's server asks for itself. */
class LeanHeaders implements IncomingHttpHeaders {
  [name: string]: string | undefined;
  host: string | undefined = undefined;
  expect: string | undefined = undefined;
  'x-api-key': string | undefined = undefined;
  'x-forwarded-for': string | undefined = undefined;
  'x-forwarded-method': string | undefined = undefined;
  'access-control-request-method': string | undefined = undefined;
}

/** Several headers of a name count as one, joined as node:http joins them. */
function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

function take(headers: LeanHeaders, name: string, value: string): void {
  switch (name) {
    case 'host':
      headers.host ??= value;
      return;
    case 'expect':
      headers.expect = joined(headers.expect, value);
      return;
    case 'x-api-key':
      headers['x-api-key'] = joined(headers['x-api-key'], value);
      return;
    case 'x-forwarded-for':
      headers['x-forwarded-for'] = joined(headers['x-forwarded-for'], value);
      return;
    case 'x-forwarded-method':
      headers['x-forwarded-method'] = joined(headers['x-forwarded-method'], value);
      return;
    case 'access-control-request-method':
      headers['access-control-request-method'] = joined(headers['access-control-request-method'], value);
      return;
    // Not declared above: node:http asks whether they are there, and they hardly ever are.
    case 'content-length':
    case 'transfer-encoding':
      headers[name] = value;
      return;
    default:
  }
}

function leanHeaders(rawHeaders: readonly string[]): LeanHeaders {
  const headers = new LeanHeaders();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    // The lengths of the names above: most others need no closer look.
    switch (name.length) {
      case 4:
      case 6:
      case 9:
      case 14:
      case 15:
      case 17:
      case 18:
      case 29:
        take(headers, name.toLowerCase(), rawHeaders[index + 1] ?? '');
        break;
      default:
    }
  }
  return headers;
}

/**
 * A request whose `headers` has the few headers that the checker knows. node:http builds an object of all of them for
 * each request, which costs more than the verdict does.
 */
export class LeanRequest extends IncomingMessage {
  #headers: LeanHeaders | undefined;

  static {
    // Node's own is such an accessor too; its types say field, which an accessor in the class's body may not replace.
    Object.defineProperty(LeanRequest.prototype, 'headers', {
      get(this: LeanRequest) {
        return (this.#headers ??= leanHeaders(this.rawHeaders));
      },
    });
  }
}
