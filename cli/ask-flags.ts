import { scopeFlags } from './common-flags.ts';
import { text, texts, toggle } from './flags.ts';

/** For `svc ask`. Without any import of the API's contract, since every command loads these options. */
export const askFlags = {
  app: text('<app>', 'app that the question is about'),
  function: text('<function>', 'function that the question is about'),
  job: text('<job>', 'job that the question is about'),
  service: text('<service>', 'managed service that the question is about'),
  deployment: text('<id>', 'deployment that the question is about'),
  file: texts('<file>', 'text file to attach, up to 256 KB'),
  conversation: text('<id>', 'conversation to continue (default: a new one)'),
  continue: toggle('continue your newest conversation', { short: 'c' }),
  ...scopeFlags,
};
