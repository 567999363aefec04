// Preloaded into the Node.js programs of pods (docs/decisions/0009-pods-as-processes.md). It resolves Service names from
// the node's hosts file, connects directly to the pod of a Service that has exactly one, and makes a program that listens
// on all addresses listen only on the pod's address.
'use strict';
const { readFileSync, statSync } = process.getBuiltinModule('node:fs');
const dns = process.getBuiltinModule('node:dns');
const net = process.getBuiltinModule('node:net');
const os = process.getBuiltinModule('node:os');
const { syncBuiltinESMExports } = process.getBuiltinModule('node:module');

const { SVC_HOSTS_FILE: file, SVC_NAMESPACE: namespace, HOSTNAME: hostname } = process.env;
const systemLookup = dns.lookup;
const systemLookupPromise = dns.promises.lookup;
let readAt;
let hosts = new Map();

/** The current hosts file: addresses by name. */
function readHosts() {
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

const normalizeName = (name) => String(name).toLowerCase().replace(/\.$/, '');

/** `<service>.<namespace>` of a name that may be a Service's. */
function serviceOf(plain) {
  const short = plain.replace(/\.cluster\.local$/, '').replace(/\.svc$/, '');
  const labels = short.split('.');
  if (labels.length > 2 || labels[0] === '') return undefined;
  return labels.length === 1 ? `${short}.${namespace}` : short;
}

function addressOf(name) {
  const plain = normalizeName(name);
  if (plain === 'localhost' || plain.endsWith('.localhost')) return '127.0.0.1';
  const service = serviceOf(plain);
  return service === undefined ? undefined : readHosts().get(service);
}

function lookup(name, options, callback) {
  const listener = typeof options === 'function' ? options : callback;
  const address = addressOf(name);
  if (address === undefined) return systemLookup.call(dns, name, options, callback);
  const all = typeof options === 'object' && options?.all === true;
  process.nextTick(() => (all ? listener(null, [{ address, family: 4 }]) : listener(null, address, 4)));
  return {};
}

dns.lookup = lookup;
dns.promises.lookup = async (name, options) => {
  const address = addressOf(name);
  if (address === undefined) return systemLookupPromise.call(dns.promises, name, options);
  return options?.all === true ? [{ address, family: 4 }] : { address, family: 4 };
};

/** Replaces a Service by its only pod, which avoids the service proxy. */
function redirect(options) {
  const { host, port, path, lookup: ownLookup } = options ?? {};
  if (typeof host !== 'string' || path) return options;
  // A program that resolves the name itself judges the address, so it gets to see it.
  if (ownLookup !== undefined && ownLookup !== lookup) return options;
  const service = net.isIP(host) === 0 ? serviceOf(normalizeName(host)) : host;
  const direct = service === undefined ? undefined : readHosts().get(`${service}:${port}`);
  if (direct === undefined) return options;
  const [address, number] = direct.split(':');
  return { ...options, host: address, port: Number(number) };
}

const connect = Reflect.get(net.Socket.prototype, 'connect');
net.Socket.prototype.connect = function connectToPod(...args) {
  const [first, second, ...rest] = args;
  // `net.connect` passes its arguments as one normalized array.
  if (Array.isArray(first)) first[0] = redirect(first[0]);
  else if (typeof first === 'object') return connect.call(this, redirect(first), ...args.slice(1));
  else if (typeof second === 'string') {
    const { host, port } = redirect({ host: second, port: first });
    return connect.call(this, port, host, ...rest);
  }
  return connect.apply(this, args);
};

const allAddresses = new Set([undefined, null, '', '0.0.0.0', '::']);
const listen = Reflect.get(net.Server.prototype, 'listen');
net.Server.prototype.listen = function listenOnPodAddress(...args) {
  const [first, second, ...rest] = args;
  const isPort = typeof first === 'number' || (typeof first === 'string' && /^\d+$/.test(first));
  if (isPort && typeof second !== 'string') return listen.call(this, first, '127.0.0.1', ...args.slice(1));
  if (isPort && allAddresses.has(second)) return listen.call(this, first, '127.0.0.1', ...rest);
  if (first?.port !== undefined && first.path === undefined && allAddresses.has(first.host)) {
    return listen.call(this, { ...first, host: '127.0.0.1' }, ...args.slice(1));
  }
  return listen.apply(this, args);
};

// A container's host name is the name of its pod.
if (hostname) os.hostname = () => hostname;
syncBuiltinESMExports();
