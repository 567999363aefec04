const { readFileSync } = process.getBuiltinModule('node:fs');
const { Agent, request } = process.getBuiltinModule('node:http');

/** Longer than the platform waits before it responds. */
const timeoutMs = 40_000;

/** Requests events from the platform. @returns a function for one exchange, which rejects when it fails */
export function createExchange({ url, tokenFile }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, timeout: timeoutMs });
  return (body, signal) =>
    new Promise((resolve, reject) => {
      // The kubelet replaces the token before it expires.
      const authorization = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`;
      const bodyBytes = Buffer.from(JSON.stringify(body));
      const headers = { authorization, 'content-type': 'application/json', 'content-length': bodyBytes.length };
      const outgoing = request(`${url}/exchange`, { agent, method: 'POST', headers, signal });
      outgoing.setTimeout(timeoutMs, () => outgoing.destroy(new Error('no response')));
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          if (response.statusCode !== 200) reject(new Error(`HTTP ${response.statusCode}: ${text.slice(0, 200)}`));
          else resolve(JSON.parse(text));
        });
      });
      outgoing.end(bodyBytes);
    });
}
