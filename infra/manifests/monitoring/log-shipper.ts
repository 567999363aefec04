/**
 * Keeps the process below 64 MB: the compilers of V8 that produce fast code take 10 MB, and the shipper needs a fortieth of
 * a core without them.
 */
export const shipperArguments = [
  '--optimize-for-size',
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--max-semi-space-size=1',
  '--max-old-space-size=40',
  'runtime/logs/ship/main.ts',
];
