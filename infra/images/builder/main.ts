import { writeFileSync } from 'node:fs';
import { writeCertificates } from './certificates.ts';
import { buildImage, pushImage } from './build.ts';
import { clone } from './clone.ts';
import { restoreCache } from './dependency-cache.ts';
import { BuildFailure } from './failure.ts';
import { restoreDependencies } from './folder-dependencies.ts';
import { fetchUpload } from './fetch-upload.ts';
import { readSettings } from './settings.ts';

/**
 * The steps of a build, each a container of its pod: `main.ts restore` when there is an earlier image, `main.ts clone`,
 * `main.ts build`, `main.ts push`. Only `build` runs code from the source, and it has no credentials.
 */
const settings = readSettings(process.env);
const maker = process.env['BUILD_MAKER'] === 'folder' ? 'folder' : 'buildah';
// Every program that a step starts inherits these.
const certificates = writeCertificates(process.env['BUILD_CA_CERTIFICATES']);
delete process.env['BUILD_CA_CERTIFICATES'];
Object.assign(process.env, certificates?.variables);
const report = (result: object) => writeFileSync(settings.resultFile, JSON.stringify(result));
try {
  const [step] = process.argv.slice(2);
  if (step === 'restore') {
    await (maker === 'buildah' ? restoreCache : restoreDependencies)(settings);
  } else if (step === 'clone') {
    const credentialsFolder = process.env['BUILD_CREDENTIALS'] ?? '';
    const { url, sourceUrl } = settings;
    if (sourceUrl !== undefined) report(await fetchUpload({ ...settings, sourceUrl }, credentialsFolder));
    else if (url !== undefined) report(await clone({ ...settings, url }, { credentialsFolder, env: process.env }));
    else throw new BuildFailure('neither BUILD_URL nor BUILD_SOURCE_URL is set');
  } else if (step === 'build') await buildImage(settings, maker, certificates?.folder);
  else report(await pushImage(settings, maker));
} catch (error) {
  if (!(error instanceof BuildFailure)) throw error;
  // The log's last line becomes the reason why the deployment failed.
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
