// Preloaded into the Node programs of pods (decision 0009): names of Services are found in the node's own file of hosts,
// who connects to one that has one pod connects to that, and who would listen on every address, as one does in a
// container, listens on the pod's.
'use strict';
const { readFileSync, statSync } = process.getBuiltinModule('node:fs');
const dns = process.getBuiltinModule('node:dns');
const net = process.getBuiltinModule('node:net');
const os = process.getBuiltinModule('node:os');
const { syncBuiltinESMExports } = process.getBuiltinModule('node:module');

const { SVC_HOSTS_FILE: file, SVC_NAMESPACE: namespace, HOSTNAME: hostname } = process.env;
const askSystem = dns.lookup;
const askSystemForPromise = dns.promises.lookup;
let readAt;
let hosts = new Map();

/** The hosts file as it is now, by what each line names. */
function known() {
  try {
    const { mtimeMs } = statSync(file);
    if (mtimeMs !== readAt)
      hosts = new Map(
        readFileSync(file, 'utf8')
          .split('\n')
          .map((line) => line.split(' ').toReversed()),
      );
    readAt = mtimeMs;
  } catch {
    return new Map();
  }
  return hosts;
}

const plainOf = (name) => String(name).toLowerCase().replace(/\.$/, '');

/** `<service>.<namespace>` of what may be a Service's name. */
function serviceOf(plain) {
  const short = plain.replace(/\.cluster\.local$/, '').replace(/\.svc$/, '');
  const labels = short.split('.');
  if (labels.length > 2 || labels[0] === '') return undefined;
  return labels.length === 1 ? `${short}.${namespace}` : short;
}

function addressOf(name) {
  const plain = plainOf(name);
  if (plain === 'localhost' || plain.endsWith('.localhost')) return '127.0.0.1';
  const service = serviceOf(plain);
  return service === undefined ? undefined : known().get(service);
}

function lookup(name, options, callback) {
  const done = typeof options === 'function' ? options : callback;
  const address = addressOf(name);
  if (address === undefined) return askSystem.call(dns, name, options, callback);
  const all = typeof options === 'object' && options?.all === true;
  process.nextTick(() => (all ? done(null, [{ address, family: 4 }]) : done(null, address, 4)));
  return {};
}

dns.lookup = lookup;
dns.promises.lookup = async (name, options) => {
  const address = addressOf(name);
  if (address === undefined) return askSystemForPromise.call(dns.promises, name, options);
  return options?.all === true ? [{ address, family: 4 }] : { address, family: 4 };
};

/** With the only pod of a Service instead, which saves the way through the node. */
function redirected(options) {
  const { host, port, path } = options ?? {};
  if (typeof host !== 'string' || path) return options;
  const service = net.isIP(host) === 0 ? serviceOf(plainOf(host)) : host;
  const direct = service === undefined ? undefined : known().get(`${service}:${port}`);
  if (direct === undefined) return options;
  const [address, number] = direct.split(':');
  return { ...options, host: address, port: Number(number) };
}

const connect = Reflect.get(net.Socket.prototype, 'connect');
net.Socket.prototype.connect = function connectToPod(...given) {
  const [first, second, ...rest] = given;
  // What `net.connect` hands on: its arguments in the one form, marked with a symbol.
  if (Array.isArray(first)) first[0] = redirected(first[0]);
  else if (typeof first === 'object') return connect.call(this, redirected(first), ...given.slice(1));
  else if (typeof second === 'string') {
    const { host, port } = redirected({ host: second, port: first });
    return connect.call(this, port, host, ...rest);
  }
  return connect.apply(this, given);
};

const everywhere = new Set([undefined, null, '', '0.0.0.0', '::']);
const listen = Reflect.get(net.Server.prototype, 'listen');
net.Server.prototype.listen = function listenOnPodAddress(...given) {
  const [first, second, ...rest] = given;
  const isPort = typeof first === 'number' || (typeof first === 'string' && /^\d+$/.test(first));
  if (isPort && typeof second !== 'string') return listen.call(this, first, '127.0.0.1', ...given.slice(1));
  if (isPort && everywhere.has(second)) return listen.call(this, first, '127.0.0.1', ...rest);
  if (first?.port !== undefined && first.path === undefined && everywhere.has(first.host)) {
    return listen.call(this, { ...first, host: '127.0.0.1' }, ...given.slice(1));
  }
  return listen.apply(this, given);
};

// A container's name is its pod's.
if (hostname) os.hostname = () => hostname;
syncBuiltinESMExports();
