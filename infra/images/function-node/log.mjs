const { format, inspect } = process.getBuiltinModule('node:util');

/** One JSON line per entry on stdout, with the id of the request that it belongs to. */
export function createLog(requestId) {
  return (level, msg, fields = {}) => {
    const id = requestId();
    process.stdout.write(
      `${JSON.stringify({ time: new Date().toISOString(), level, msg, ...(id && { requestId: id }), ...fields })}\n`,
    );
  };
}

/** What a handler prints with console becomes entries too; the methods that are not named here call these. */
export function bindConsole(log) {
  for (const [method, level] of [
    ['debug', 'debug'],
    ['log', 'info'],
    ['info', 'info'],
    ['warn', 'warn'],
    ['error', 'error'],
  ]) {
    console[method] = (...values) => log(level, format(...values));
  }
  Object.assign(console, { dir: (value, options) => log('info', inspect(value, options)) });
}
