// Waits for a function and then becomes its runtime: the platform sends code and variables once, with a token of which this
// program knows the digest only. It prints nothing while it waits. What this program was started with is not left to the code.
const { createServer } = process.getBuiltinModule('node:http');
const { hash, timingSafeEqual } = process.getBuiltinModule('node:crypto');
const { readdirSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { join } = process.getBuiltinModule('node:path');
const { fileURLToPath } = process.getBuiltinModule('node:url');

/** More than a ConfigMap and a Secret of the largest size, with every character escaped. */
const bodyMaxBytes = 16 * 1024 * 1024;
const { SVC_WARM_POD, SVC_WARM_PORT, SVC_WARM_FOLDER, SVC_WARM_TOKEN_DIGEST, ...variables } = process.env;
let started = false;

if (readdirSync(SVC_WARM_FOLDER).length > 0) {
  const msg = 'the container restarted after the function was started in it; another pod replaces this one';
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), level: 'fatal', msg })}\n`);
  process.exit(1);
}

function isAuthorized({ headers }) {
  const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(hash('sha256', token, 'buffer'), Buffer.from(SVC_WARM_TOKEN_DIGEST, 'hex'));
}

async function readJson(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > bodyMaxBytes) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** Replaces this process with the runtime, as a container of the function would start it. */
function become({ env, drainSeconds }) {
  const server = fileURLToPath(new URL('server.mjs', import.meta.url));
  process.execve(process.execPath, ['node', server, String(drainSeconds)], { ...variables, ...env });
}

async function start(request, response) {
  // Before anything of the body is read, and once only.
  const refusal = isAuthorized(request) ? started && 409 : 401;
  if (refusal) {
    response.writeHead(refusal, { connection: 'close' }).end();
    return;
  }
  started = true;
  try {
    const body = await readJson(request);
    for (const [name, text] of Object.entries(body.files)) {
      writeFileSync(join(SVC_WARM_FOLDER, name), text, { mode: 0o444 });
    }
    response.once('finish', () => become(body));
    response.writeHead(202, { connection: 'close' }).end();
  } catch {
    response.writeHead(400, { connection: 'close' }).end();
  }
}

const server = createServer((request, response) => {
  if (request.method === 'GET' && request.url === '/pod') response.end(SVC_WARM_POD);
  else if (request.method === 'POST' && request.url === '/start') void start(request, response);
  else response.writeHead(404, { connection: 'close' }).end();
});
server.listen(Number(SVC_WARM_PORT));
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
