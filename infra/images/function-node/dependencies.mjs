const { realpathSync } = process.getBuiltinModule('node:fs');
const path = process.getBuiltinModule('node:path');
const { registerHooks } = process.getBuiltinModule('node:module');
const { pathToFileURL } = process.getBuiltinModule('node:url');

const isPackage = (specifier) => /^[@A-Za-z0-9~][^:]*$/.test(specifier);

/**
 * Makes `import` in the code find packages in the folder where they were installed, which is not next to the code.
 * `require` uses NODE_PATH. Imports inside packages resolve as usual.
 */
export function findPackagesIn(folder) {
  const installed = pathToFileURL(path.join(realpathSync(folder), 'package.json')).href;
  const packages = new URL('node_modules/', installed).href;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const isCode = isPackage(specifier) && !context.parentURL?.startsWith(packages);
      return nextResolve(specifier, isCode ? { ...context, parentURL: installed } : context);
    },
  });
}
