/**
 * Code for `node -e`, without any package, that signs in to a server with DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD
 * and DB_DATABASE (or DB_ACCESSKEY, DB_SECRETKEY and DB_REGION), lets it store or compute 42, and prints that. Without
 * DB_USERNAME, Redis uses its default user; without DB_BUCKET, a bucket is created. With DB_STATEMENTS, the one for
 * PostgreSQL runs these instead and prints the first column of the result.
 */

/** https://redis.io/docs/latest/develop/reference/protocol-spec */
export const redisProbe = `
const { DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD } = process.env;
const socket = require('node:net').connect(Number(DB_PORT), DB_HOST);
let seen = '';
const who = DB_USERNAME === undefined ? '' : DB_USERNAME + ' ';
socket.write('AUTH ' + who + DB_PASSWORD + '\\r\\nSET answer 42\\r\\nGET answer\\r\\n');
socket.on('data', (data) => {
  seen += data;
  const found = /^\\+OK\\r\\n\\+OK\\r\\n\\$2\\r\\n(\\d+)/.exec(seen);
  const [refused] = /^-.*/m.exec(seen) ?? [];
  if (!found && !refused) return;
  console.log(found?.[1] ?? refused);
  socket.end();
});
`;

/** https://www.postgresql.org/docs/current/protocol-flow.html and RFC 5802 with SHA-256 (RFC 7677) */
export const postgresProbe = `
const { createHash, createHmac, pbkdf2Sync, randomBytes } = require('node:crypto');
const { DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD, DB_DATABASE, DB_STATEMENTS = 'SELECT 40 + 2' } = process.env;
const socket = require('node:net').connect(Number(DB_PORT), DB_HOST);
const number = (value) => { const bytes = Buffer.alloc(4); bytes.writeInt32BE(value); return bytes; };
const text = (value) => Buffer.concat([Buffer.from(value), Buffer.alloc(1)]);
const message = (type, ...parts) => {
  const body = Buffer.concat(parts);
  socket.write(Buffer.concat([Buffer.from(type), number(body.length + 4), body]));
};
const hmac = (key, value) => createHmac('sha256', key).update(value).digest();
const nonce = randomBytes(18).toString('base64');
const first = 'n=,r=' + nonce;
const answer = {
  10() {
    const data = Buffer.from('n,,' + first);
    message('p', text('SCRAM-SHA-256'), number(data.length), data);
  },
  11(data) {
    const challenge = data.toString();
    const part = (name) => challenge.split(',').find((each) => each.startsWith(name + '=')).slice(2);
    const salted = pbkdf2Sync(DB_PASSWORD, Buffer.from(part('s'), 'base64'), Number(part('i')), 32, 'sha256');
    const key = hmac(salted, 'Client Key');
    const last = 'c=biws,r=' + part('r');
    const signature = hmac(createHash('sha256').update(key).digest(), [first, challenge, last].join(','));
    message('p', Buffer.from(last + ',p=' + Buffer.from(key.map((byte, i) => byte ^ signature[i])).toString('base64')));
  },
};
let asked = false;
const handle = (type, body) => {
  if (type === 'R') answer[body.readInt32BE()]?.(body.subarray(4));
  if (type === 'D') console.log(body.subarray(6).toString());
  if (type === 'E' || (type === 'Z' && asked)) return socket.end();
  if (type !== 'Z') return;
  asked = true;
  message('Q', text(DB_STATEMENTS));
};
message('', number(196608), text('user'), text(DB_USERNAME), text('database'), text(DB_DATABASE), text(''));
let rest = Buffer.alloc(0);
socket.on('data', (data) => {
  rest = Buffer.concat([rest, data]);
  while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
    const end = rest.readInt32BE(1) + 1;
    handle(String.fromCharCode(rest[0]), rest.subarray(5, end));
    rest = rest.subarray(end);
  }
});
`;

/** https://mariadb.com/kb/en/connection/ with `mysql_native_password` */
export const mysqlProbe = `
const { createHash } = require('node:crypto');
const { DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD, DB_DATABASE } = process.env;
const socket = require('node:net').connect(Number(DB_PORT), DB_HOST);
const sha1 = (...parts) => createHash('sha1').update(Buffer.concat(parts)).digest();
const text = (value) => Buffer.concat([Buffer.from(value), Buffer.alloc(1)]);
const packet = (number, ...parts) => {
  const body = Buffer.concat(parts);
  socket.write(Buffer.concat([Buffer.from([body.length, 0, 0, number]), body]));
};
const login = (greeting) => {
  const salt = greeting.indexOf(0) + 5;
  const seed = Buffer.concat([greeting.subarray(salt, salt + 8), greeting.subarray(salt + 27, salt + 39)]);
  const once = sha1(Buffer.from(DB_PASSWORD));
  const mask = sha1(seed, sha1(once));
  const proof = Buffer.from(once.map((byte, i) => byte ^ mask[i]));
  const head = Buffer.alloc(32);
  head.writeUInt32LE(0x8 | 0x200 | 0x8000 | 0x80000);
  head.writeUInt32LE(2 ** 24, 4);
  head[8] = 45;
  const native = text('mysql_native_password');
  packet(1, head, text(DB_USERNAME), Buffer.from([proof.length]), proof, text(DB_DATABASE), native);
};
// The greeting, whether the login is good, and of the result: one column, what it is, the end of that, one row.
const steps = [
  login,
  (answer) => (answer[0] === 0 ? packet(0, Buffer.from([3]), Buffer.from('SELECT 40 + 2')) : socket.end()),
  () => {},
  () => {},
  () => {},
  (row) => { console.log(row.subarray(1).toString()); socket.end(); },
];
let rest = Buffer.alloc(0);
socket.on('data', (data) => {
  rest = Buffer.concat([rest, data]);
  while (rest.length >= 4 && rest.length >= 4 + rest.readUIntLE(0, 3)) {
    const end = 4 + rest.readUIntLE(0, 3);
    steps.shift()?.(rest.subarray(4, end));
    rest = rest.subarray(end);
  }
});
`;

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
export const s3Probe = `
const { createHash, createHmac } = require('node:crypto');
const { DB_HOST, DB_PORT, DB_ACCESSKEY, DB_SECRETKEY, DB_REGION, DB_BUCKET } = process.env;
const host = DB_HOST + ':' + DB_PORT;
const bucket = '/' + (DB_BUCKET ?? 'answers');
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
const ask = (method, path, body = '') => {
  const date = new Date().toISOString().replace(/[-:]|\\.\\d+/g, '');
  const headers = { host, 'x-amz-content-sha256': sha256(body), 'x-amz-date': date };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => name + ':' + value + '\\n').join('');
  const canonical = [method, path, '', lines, names, sha256(body)].join('\\n');
  const scope = [date.slice(0, 8), DB_REGION, 's3', 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\\n');
  const key = scope.reduce(hmac, 'AWS4' + DB_SECRETKEY);
  const signature = createHmac('sha256', key).update(text).digest('hex');
  const authorization = 'AWS4-HMAC-SHA256 Credential=' + [DB_ACCESSKEY, ...scope].join('/') +
    ', SignedHeaders=' + names + ', Signature=' + signature;
  const sent = { ...headers, authorization };
  return fetch('http://' + host + path, { method, headers: sent, ...(method === 'PUT' && { body }) });
};
(async () => {
  const made = [...(DB_BUCKET ? [] : [await ask('PUT', bucket)]), await ask('PUT', bucket + '/everything', '42')];
  for (const answer of made) if (!answer.ok) console.log(answer.status, await answer.text());
  console.log(await (await ask('GET', bucket + '/everything')).text());
})();
`;

/** https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol, https://bsonspec.org/spec.html and RFC 7677 */
export const mongoProbe = `
const { createHash, createHmac, pbkdf2Sync, randomBytes } = require('node:crypto');
const { DB_HOST, DB_PORT, DB_USERNAME, DB_PASSWORD, DB_DATABASE } = process.env;
const socket = require('node:net').connect(Number(DB_PORT), DB_HOST);
const int = (value) => { const bytes = Buffer.alloc(4); bytes.writeInt32LE(value); return bytes; };
const text = (value) => Buffer.concat([Buffer.from(value), Buffer.alloc(1)]);
const encoded = (value) => {
  if (typeof value === 'number') return [16, int(value)];
  if (typeof value === 'string') return [2, int(Buffer.byteLength(value) + 1), text(value)];
  if (Buffer.isBuffer(value)) return [5, int(value.length), Buffer.alloc(1), value];
  return [Array.isArray(value) ? 4 : 3, encode(value)];
};
const encode = (value) => {
  const fields = Object.entries(value).map(([name, each]) => {
    const [type, ...bytes] = encoded(each);
    return Buffer.concat([Buffer.from([type]), text(name), ...bytes]);
  });
  const body = Buffer.concat(fields);
  return Buffer.concat([int(body.length + 5), body, Buffer.alloc(1)]);
};
const sizes = { 1: 8, 7: 12, 8: 1, 9: 8, 10: 0, 16: 4, 17: 8, 18: 8 };
const read = {
  1: (part) => part.readDoubleLE(),
  2: (part) => part.toString('utf8', 4, part.length - 1),
  3: (part) => decode(part),
  4: (part) => decode(part),
  5: (part) => part.subarray(5),
  16: (part) => part.readInt32LE(),
};
const decode = (bytes) => {
  const value = {};
  for (let at = 4; bytes[at] !== 0; ) {
    const type = bytes[at];
    const start = bytes.indexOf(0, at) + 1;
    const size = sizes[type] ?? bytes.readInt32LE(start) + { 2: 4, 3: 0, 4: 0, 5: 5 }[type];
    value[bytes.toString('utf8', at + 1, start - 1)] = read[type]?.(bytes.subarray(start, start + size));
    at = start + size;
  }
  return value;
};
let answered;
const ask = (command) => new Promise((resolve, reject) => {
  answered = (answer) => (answer.ok === 1 ? resolve(answer) : reject(new Error(answer.errmsg)));
  const body = encode({ ...command, $db: DB_DATABASE });
  socket.write(Buffer.concat([int(body.length + 21), int(1), int(0), int(2013), int(0), Buffer.alloc(1), body]));
});
let rest = Buffer.alloc(0);
socket.on('data', (data) => {
  rest = Buffer.concat([rest, data]);
  if (rest.length < 4 || rest.length < rest.readInt32LE()) return;
  const answer = decode(rest.subarray(21));
  rest = Buffer.alloc(0);
  answered(answer);
});
const hmac = (key, value) => createHmac('sha256', key).update(value).digest();
const signIn = async () => {
  const first = 'n=' + DB_USERNAME + ',r=' + randomBytes(18).toString('base64');
  const mechanism = 'SCRAM-SHA-256';
  const options = { skipEmptyExchange: 1 };
  const started = await ask({ saslStart: 1, mechanism, payload: Buffer.from('n,,' + first), options });
  const challenge = started.payload.toString();
  const part = (name) => challenge.split(',').find((each) => each.startsWith(name + '=')).slice(2);
  const salted = pbkdf2Sync(DB_PASSWORD, Buffer.from(part('s'), 'base64'), Number(part('i')), 32, 'sha256');
  const key = hmac(salted, 'Client Key');
  const last = 'c=biws,r=' + part('r');
  const signature = hmac(createHash('sha256').update(key).digest(), [first, challenge, last].join(','));
  const proof = Buffer.from(key.map((byte, i) => byte ^ signature[i])).toString('base64');
  await ask({ saslContinue: 1, conversationId: started.conversationId, payload: Buffer.from(last + ',p=' + proof) });
};
(async () => {
  try {
    await signIn();
    await ask({ insert: 'answers', documents: [{ everything: 42 }] });
    const { cursor } = await ask({ find: 'answers' });
    console.log(cursor.firstBatch[0].everything);
  } catch (error) {
    console.log(error.message);
  }
  socket.end();
})();
`;
