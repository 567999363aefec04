import type { Layer } from './exchange.ts';
import { canonicalName, type Headers } from './headers.ts';
import type { HeadersSpec } from './objects.ts';

/** The Middleware `headers`: sets fields of the request, then of the answer; an empty value removes them. Pure. */
export function headerLayer({ customRequestHeaders, customResponseHeaders }: HeadersSpec): Layer {
  const changeRequest = change(customRequestHeaders);
  const changeAnswer = change(customResponseHeaders);
  return (next) => async (request) => {
    // Removed by name it would come back with the client's own address.
    const unchained = customRequestHeaders['X-Forwarded-For'] === '';
    changeRequest(request.headers);
    if (unchained) request.headers.set('X-Forwarded-For', []);
    const answer = await next(request);
    changeAnswer(answer.headers);
    return answer;
  };
}

function change(values: Readonly<Record<string, string>>): (headers: Headers) => void {
  const changes = Object.entries(values).map(([name, value]) => [canonicalName(name), value] as const);
  return (headers) => {
    for (const [name, value] of changes) {
      if (value === '') headers.delete(name);
      else headers.set(name, [value]);
    }
  };
}
