import { writeFileSync } from 'node:fs';
import { buildImage } from './build.ts';
import { clone } from './clone.ts';
import { BuildFailure } from './failure.ts';
import { readSettings } from './settings.ts';

/** The two steps of a build, each a container of its pod: `main.ts clone`, then `main.ts build`. */
try {
  const settings = readSettings(process.env);
  const [step] = process.argv.slice(2);
  if (step === 'clone') {
    await clone(settings, { credentialsFolder: process.env['BUILD_CREDENTIALS'] ?? '', env: process.env });
  } else {
    const result = await buildImage(settings, process.env['BUILD_MAKER'] === 'folder' ? 'folder' : 'buildah');
    writeFileSync(settings.resultFile, JSON.stringify(result));
  }
} catch (error) {
  if (!(error instanceof BuildFailure)) throw error;
  // The log's last line becomes the reason why the deployment failed.
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
