const { pathToFileURL } = process.getBuiltinModule('node:url');

/**
 * The function that the code exports as `handler` or as its default, from an ES or a CommonJS module.
 * @throws any error of the code; the stack of a syntax error contains its place
 */
export async function loadHandler(codeFile) {
  const module = await import(pathToFileURL(codeFile).href).catch((error) => {
    throw error instanceof SyntaxError ? withLocation(error, codeFile) : error;
  });
  const handler = module.handler ?? module.default?.handler ?? module.default;
  if (typeof handler !== 'function') throw new TypeError('the code does not export a function named "handler"');
  return handler;
}

/** Adds the place of a syntax error to its stack. Node shows the place only when it prints the error, so this runs Node. */
function withLocation(error, codeFile) {
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const { stderr } = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], {
    input: readFileSync(codeFile),
    encoding: 'utf8',
    timeout: 5_000,
  });
  const [location, ...lines] = (stderr ?? '').split('\n');
  if (location?.startsWith('[stdin]:')) {
    error.stack = [location.replace('[stdin]', codeFile), ...lines.slice(0, 2), '', String(error)].join('\n');
  }
  return error;
}
