import type { FedLine, FeedPage, LogFeed } from './feed.ts';

/** Time-out of a page. */
const answerMs = 20_000;
/** A page has half a million characters and at most one block more; each can be escaped. */
const pageMaxBytes = 32 * 1024 * 1024;

/** Reads all lines of a log store by HTTP. @param options.token reads the token at each request, because it can change */
export function createFeedClient({ url, token }: { url: string; token: () => Promise<string> }): LogFeed {
  return {
    async feed(position, signal) {
      const query = position === undefined ? '' : `?position=${encodeURIComponent(position)}`;
      const response = await fetch(`${url}/feed${query}`, {
        headers: { authorization: `Bearer ${(await token()).trim()}` },
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
      });
      if (response.status !== 200 || !response.body) {
        await response.body?.cancel();
        throw new Error(`the log store answered ${response.status}`);
      }
      return parsePage(await readText(response.body));
    },
  };
}

async function readText(body: ReadableStream<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > pageMaxBytes) throw new Error('the log store sent a page that is too long');
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws Error for an answer that was cut */
function parsePage(text: string): FeedPage {
  const values = text.split('\n').filter((line) => line !== '');
  const last = JSON.parse(values.pop() ?? '{}') as { end?: Omit<FeedPage, 'lines'> };
  if (!last.end) throw new Error('the answer of the log store was cut');
  return { lines: values.map((line) => JSON.parse(line) as FedLine), ...last.end };
}
