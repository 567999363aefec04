import { createServer, type RequestListener } from 'node:http';
import { createLeanServer } from './lean-server.ts';

const stock: RequestListener = (_request, response) => {
  response.writeHead(200, ['Cache-Control', 'no-store', 'Content-Length', '0']).end();
};

/** What the checker answers to an allowed request, so that both write as many headers and bytes. */
const allowHeaders = [
  'X-Svc-Key-Prefix',
  'abcdefgh',
  'RateLimit-Policy',
  '"rate";q=1000000000;w=1, "quota";q=1000000000000000;w=2592000',
  'RateLimit',
  '"rate";r=999999999;t=1, "quota";r=999999999999999;t=1296000',
  'Content-Length',
  '0',
  'X-Svc-Key-Name',
  'Customer abcdefgh',
];
const lean: RequestListener = (_request, response) => {
  response.writeHead(200, allowHeaders).end();
};

/**
 * The yardstick: the minimum that node:http can do for the same requests, with its own options, or with `LEAN` tuned for
 * them and with the checker's answer.
 */
const server = process.env['LEAN'] === undefined ? createServer(stock) : createLeanServer(lean);

server.listen(Number(process.env['PORT']), '127.0.0.1');
