import { once } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { listObjects, openObjectStore } from '../../runtime/services/object-store.ts';
import { textsOf, unescapeXml } from '../../runtime/services/xml.ts';
import { GitError } from '../../runtime/git/failure.ts';
import { branchTip, createGit } from '../../runtime/git/git.ts';
import { createRemoteSource } from '../../workers/events/remote-source.ts';
import { testClients } from '../support/clients.ts';
import { isSuperLinear } from '../support/growth.ts';
import { testServers } from '../support/servers.ts';
import { bindingWorld, runningAt } from '../workers/bindings/binding-world.ts';
import { eventWorld } from '../workers/events/event-world.ts';

/** A user who registers a service or an event source chooses a server that the shared workers connect to. */
async function httpServer(t: Test, handler: RequestListener): Promise<number> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

async function tcpServer(t: Test, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Sends a part over and over, as fast as the client reads it. */
function flood(socket: Socket, part: Buffer): void {
  const write = (): void => {
    if (!socket.destroyed) socket.write(part, () => setImmediate(write));
  };
  write();
}

/** An event source of each type whose server is `port`. */
const sourceAt = {
  postgres: { type: 'postgres' as const, source: 'db', query: 'SELECT id FROM orders' },
  mysql: { type: 'mysql' as const, source: 'db', query: 'SELECT id FROM orders' },
  redis: { type: 'redis' as const, source: 'db', list: 'jobs' },
};

async function readerOf(t: Test, type: keyof typeof sourceAt, port: number, clients = testClients(t)) {
  const login = type === 'redis' ? {} : { username: 'svc', password: 'correct-horse', database: 'orders' };
  const credentials = { type, host: '127.0.0.1', port, tls: false, ...login };
  const remote = createRemoteSource(clients);
  const sources = { postgres: remote, mysql: remote, redis: remote };
  return eventWorld(t, { sources, settings: sourceAt[type], credentials });
}

/** Messages of a PostgreSQL server: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const message = (type: string, body: Buffer, length = body.length + 4) => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(length, 1);
  return Buffer.concat([head, body]);
};
const signedIn = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);

/** Parts of one packet of a MySQL server, without end. */
const hugePackets = (socket: Socket) =>
  flood(socket, Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0]), Buffer.alloc(2 ** 24 - 1)]));

/** What hostile servers send: at once, or in answer to the first request after signing in. */
const floods: readonly { type: keyof typeof sourceAt; name: string; attack: (socket: Socket) => void }[] = [
  {
    type: 'postgres',
    name: 'a row without end',
    attack: (socket) => {
      socket.once('data', () => {
        socket.write(signedIn);
        socket.once('data', () => {
          socket.write(message('D', Buffer.alloc(0), 2 ** 31 - 1));
          flood(socket, Buffer.alloc(1024 ** 2));
        });
      });
    },
  },
  {
    type: 'postgres',
    name: 'settings without end',
    attack: (socket) => {
      socket.once('data', () => {
        socket.write(signedIn);
        const setting = message('S', Buffer.from('a\0b\0'));
        flood(socket, Buffer.concat(Array.from({ length: 50_000 }, () => setting)));
      });
    },
  },
  { type: 'mysql', name: 'a packet without end', attack: hugePackets },
  {
    type: 'redis',
    name: 'a reply without end',
    attack: (socket) => {
      socket.once('data', () => {
        socket.write('$2000000000\r\n');
        flood(socket, Buffer.alloc(1024 ** 2, 'x'));
      });
    },
  },
];

const filled = (pattern: string) => (size: number) => pattern.repeat(Math.ceil(size / pattern.length)).slice(0, size);

t.test('a listing is read in linear time, whatever it contains', (t) => {
  for (const pattern of ['<Contents>', '</Contents>', '<Contents><Key>', '<Contents></Contents>', '<<Contents>']) {
    t.notOk(
      isSuperLinear(filled(pattern), (xml) => textsOf(xml, 'Contents')),
      pattern,
    );
  }
  for (const pattern of ['&', '&#', '&#x', '&a', 'a', '&#x41;', '&lt'])
    t.notOk(isSuperLinear(filled(pattern), unescapeXml), pattern);
  t.equal(unescapeXml('&#xFFFFFFFF;&#x41;&#66;&amp;&no;'), '&#xFFFFFFFF;AB&&no;');
  t.end();
});

t.test('an object store that sends without end, with any status, is reported as the cause', async (t) => {
  for (const status of [200, 201, 206, 299, 404]) {
    const port = await httpServer(t, (_request, response) => {
      response.writeHead(status);
      const write = (): void => {
        if (!response.destroyed) response.write('<Contents>'.repeat(50_000), () => setImmediate(write));
      };
      write();
    });
    const keys = { accessKey: 'svc', secretKey: 'correct-horse' };
    const store = await openObjectStore({ host: '127.0.0.1', port, tls: false, ...keys });
    t.teardown(() => store.close());
    await t.rejects(listObjects(store, 'files').next(), {
      code: 'ResponseTooLarge',
      message: 'the store sent more than 4 MiB in one response',
    });
  }
});

for (const { type, name, attack } of floods) {
  t.test(`${type}: ${name} is reported as the cause`, async (t) => {
    const { turn, state } = await readerOf(t, type, await tcpServer(t, attack));
    const before = process.memoryUsage.rss();
    await turn();
    t.ok(process.memoryUsage.rss() - before < 50 * 1024 ** 2, 'this process keeps its memory');
    t.match(await state(), { failures: 1, error: /the server sent more than 24 MiB in one answer/ });
  });
}

/** A PostgreSQL server that answers the first request after signing in like this. */
const answeringWith = (answer: Buffer) => (socket: Socket) => {
  socket.once('data', () => {
    socket.write(signedIn);
    socket.once('data', () => socket.write(answer));
  });
};

t.test('an answer that ends a client process affects only its own source', async (t) => {
  const clients = testClients(t);
  const redis = new Redis(testServers().redis.port);
  t.teardown(() => redis.disconnect());
  const good = await readerOf(t, 'redis', testServers().redis.port, clients);
  for (const { type, attack, error } of [
    {
      // The client makes an array for each: twelve bytes are 240 MB.
      type: 'redis' as const,
      attack: (socket: Socket) => void socket.once('data', () => socket.write('*30000000\r\n'.repeat(20))),
      error: 'Reading stopped: the server sent more than fits into 192 MiB of memory.',
    },
    {
      // A row with -1 fields.
      type: 'postgres' as const,
      attack: answeringWith(message('D', Buffer.from([0xff, 0xff]))),
      error: 'Reading stopped: the server sent something that cannot be read.',
    },
  ]) {
    const bad = await readerOf(t, type, await tcpServer(t, attack), clients);
    const attempt = bad.turn();
    await redis.rpush('jobs', 'one');
    await good.turn();
    t.same(await good.deliver(), ['one'], 'another source is read meanwhile');
    await attempt;
    t.match(await bad.state(), { failures: 1, error });
    t.equal((await good.state())?.error, null);
  }
});

/** A message of MongoDB's protocol without end: https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/ */
const hugeMessages = (socket: Socket) => {
  socket.once('data', () => {
    const head = Buffer.alloc(16);
    head.writeInt32LE(2 ** 26, 0);
    head.writeInt32LE(2013, 12);
    socket.write(head);
    flood(socket, Buffer.alloc(1024 ** 2));
  });
};

const hugeListing = (socket: Socket) => {
  socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    flood(socket, Buffer.from('<Contents>'.repeat(50_000)));
  });
};

t.test('an external server that breaks its client fails only its own binding', async (t) => {
  const { addService, addFunction, work } = await bindingWorld(t);
  const attacks = [
    { type: 'postgres', attack: answeringWith(message('D', Buffer.from([0xff, 0xff]))), error: /cannot be read/ },
    { type: 'mysql', attack: hugePackets, error: /more than 24 MiB/ },
    { type: 'mongodb', attack: hugeMessages, error: /more than fits into 192 MiB of memory/ },
    { type: 'minio', attack: hugeListing, error: /more than 4 MiB in one response/ },
  ] as const;
  for (const { type, attack, error } of attacks) {
    const port = await tcpServer(t, attack);
    const external = { host: '127.0.0.1', port, tls: false };
    const credentials = { username: 'svc', password: 'x', accessKey: 'svc', secretKey: 'correct-horse' };
    await addService(type, { type, external }, { status: runningAt(external), credentials });
    const api = await addFunction(`of-${type}`);
    await api.bind({ service: type, version: 1 });
    await work();
    t.match(await api.status(type), { phase: 'failed', message: error }, type);
  }
});

/** Servers that keep their client waiting. */
const waits: readonly { name: string; attack: (socket: Socket) => void; error: RegExp }[] = [
  { name: 'says nothing', attack: () => undefined, error: /^Reading stopped: the server took longer than 2 s\.$/ },
  {
    name: 'sends a byte at a time',
    attack: (socket) => {
      const timer = setInterval(() => socket.write('\0'), 20);
      socket.once('close', () => clearInterval(timer));
    },
    // Redis waits for the end of a line; the other protocols have no greeting of such bytes.
    error: /^Reading stopped: the server (took longer than 2 s|sent something that cannot be read)\.$/,
  },
];

for (const type of Object.keys(sourceAt) as (keyof typeof sourceAt)[]) {
  t.test(`${type}: a server that keeps its client waiting is left after the time-out`, async (t) => {
    const clients = testClients(t, { leaseMs: 2_000 });
    const results = waits.map(async ({ name, attack, error }) => {
      const { turn, state } = await readerOf(t, type, await tcpServer(t, attack), clients);
      await turn();
      t.match(await state(), { failures: 1, error }, name);
    });
    await Promise.all(results);
  });

  t.test(`${type}: a server that keeps its client waiting holds up its own source only`, async (t) => {
    const clients = testClients(t);
    const redis = new Redis(testServers().redis.port);
    t.teardown(() => redis.disconnect());
    const good = await readerOf(t, 'redis', testServers().redis.port, clients);
    const connected = Promise.withResolvers<void>();
    const bad = await readerOf(t, type, await tcpServer(t, () => connected.resolve()), clients);
    const turn = bad.turn();
    await connected.promise;
    await redis.rpush('jobs', 'one');
    await good.turn();
    t.same(await good.deliver(), ['one']);
    await clients.stop();
    await turn;
  });

  t.test(`${type}: a server that leaves in the middle of its greeting cannot be reached`, async (t) => {
    const { turn, state } = await readerOf(t, type, await tcpServer(t, (socket) => void socket.end('\n')));
    await turn();
    t.match(await state(), { failures: 1, error: /^Cannot reach the service/ });
  });
}

/** What `git ls-remote` says of a server; `server` is `host:port`. */
async function pollGit(t: Test, server: string, resolved: readonly string[] = []): Promise<Error | undefined> {
  const git = createGit({ folder: t.testdir({}), resolved, env: process.env, memoryMaxMib: 128 });
  return branchTip(git, { url: `http://${server}/shop/api.git`, branch: 'main' }, { timeoutMs: 1_500 }).then(
    () => undefined,
    (error: Error) => error,
  );
}

t.test('git: a poll and what it starts stand back for other programs', async (t) => {
  const programs = t.testdir({ git: '#!/bin/sh\nnice\nsh -c nice\ncat /proc/self/autogroup 2>/dev/null || true\n' });
  chmodSync(join(programs, 'git'), 0o755);
  const env = { ...process.env, PATH: `${programs}:${process.env['PATH']}` };
  const git = createGit({ folder: mkdtempSync(join(programs, 'own-')), env, memoryMaxMib: 64 });
  const [own, ofChild, session] = (await git(['ls-remote'], { timeoutMs: 10_000 })).split('\n');
  const niceness = String(Math.min(19, getPriority() + 10));
  t.same([own, ofChild], [niceness, niceness]);
  if (session) t.match(session, /nice 10$/, 'where sessions share processors');
});

/** The head of a list of branches: https://git-scm.com/docs/http-protocol */
const branchesHead = 'HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-advertisement\r\n\r\n';

t.test('git: a server that keeps its client waiting is left after the time-out, and no process stays', async (t) => {
  const trickle = (socket: Socket) => {
    socket.write(branchesHead);
    const timer = setInterval(() => socket.write('0'), 50);
    socket.once('close', () => clearInterval(timer));
  };
  for (const attack of [() => undefined, trickle]) {
    const closed = Promise.withResolvers<void>();
    const port = await tcpServer(t, (socket) => {
      socket.resume().once('close', () => closed.resolve());
      attack(socket);
    });
    t.match(await pollGit(t, `127.0.0.1:${port}`), {
      message: 'git did not finish within 2 s.',
      problem: 'unreachable',
    });
    // A process that git started would keep its connection.
    await closed.promise;
  }
});

t.test('git: an answer that is not from a git server is reported in one line', async (t) => {
  for (const answer of ['\0'.repeat(100), `${branchesHead}0000`, `${branchesHead}${'f'.repeat(70_000)}`]) {
    const port = await tcpServer(t, (socket) => socket.once('data', () => void socket.end(answer)));
    const failure = await pollGit(t, `127.0.0.1:${port}`);
    t.ok(failure instanceof GitError, failure?.message ?? 'no failure');
    t.ok((failure?.message.length ?? 0) < 600);
  }
});

t.test('git: a name is resolved once, when its addresses are checked', async (t) => {
  let connections = 0;
  const port = await tcpServer(t, (socket) => {
    connections++;
    socket.end();
  });
  // The resolver would find nothing for this name, which stands for one that resolves differently now.
  await pollGit(t, `rebinding.invalid:${port}`, [`rebinding.invalid:${port}:127.0.0.1`]);
  t.equal(connections, 1);
});
