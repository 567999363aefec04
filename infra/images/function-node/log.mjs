const { format, inspect } = process.getBuiltinModule('node:util');

/** Writes one JSON line per entry to stdout, with the id of its request. */
export function createLog(requestId) {
  return (level, msg, fields = {}) => {
    const id = requestId();
    process.stdout.write(
      `${JSON.stringify({ time: new Date().toISOString(), level, msg, ...(id && { requestId: id }), ...fields })}\n`,
    );
  };
}

/** Console output becomes entries, too. Console methods that are not named here call these. */
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
