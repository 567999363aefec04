import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WebSocket } from 'ws';
import { runSession, type SessionEnd } from './exec-session.ts';
import { Failure, reasonOf, usageFailure } from './failure.ts';

/** Exit code of the scripts when the content is not the one that was sent. */
const incomplete = 65;
/** Of a program's messages, which end up in an error. */
const messageMax = 2_000;

/**
 * Writes its input to a file beside `$1`, and takes its place only if the checksum is `$3`; `$2` is the file's name for a
 * folder, and `$4` makes the name of the temporary file unique. The file keeps its mode.
 */
const receiveScript = `set -eu
target=$1
if [ -d "$target" ]; then target=\${target%/}/$2; fi
folder=$(dirname -- "$target")
[ -d "$folder" ] || { echo "The folder $folder does not exist in the pod." >&2; exit 1; }
[ -w "$folder" ] || { echo "The user of the container may not write to the folder $folder; choose another one, such as /tmp." >&2; exit 1; }
temporary=$folder/.svc-cp-$4
trap 'rm -f -- "$temporary"' EXIT
cat > "$temporary"
sum=$(sha256sum < "$temporary")
[ "\${sum%% *}" = "$3" ] || exit ${incomplete}
if [ -e "$target" ]; then chmod "$(stat -c %a -- "$target")" "$temporary"; fi
mv -f -- "$temporary" "$target"`;

/** Writes the file `$1` to the standard output, and then its checksum to the standard error. */
const sendScript = `set -eu
[ ! -d "$1" ] || { echo "$1 is a folder; pack it: svc app exec <app> -- tar c -C $1 . | tar x" >&2; exit 1; }
[ -r "$1" ] || { echo "$1 does not exist in the pod, or cannot be read there" >&2; exit 1; }
cat < "$1"
sha256sum < "$1" >&2`;

/** Opens a session in a pod for a command. */
type Open = (command: readonly string[], input: boolean) => Promise<WebSocket>;

/** Copies a local file into a pod. The file there is replaced when all of it has arrived. @throws Failure */
export async function copyToPod(open: Open, local: string, remote: string): Promise<number> {
  const { size, checksum } = await readChecksum(local);
  const script = [receiveScript, 'svc', remote, basename(local), checksum, randomBytes(8).toString('hex')];
  const socket = await open(['sh', '-c', ...script], true);
  const output = messages();
  const end = await runSession(socket, {
    stdin: createReadStream(local),
    stdout: output.stream,
    stderr: output.stream,
    terminal: false,
  });
  if ('exitCode' in end && end.exitCode === incomplete) {
    throw failure(`${local} changed while it was copied. ${remote} is unchanged.`);
  }
  checkEnd(end, output.text());
  return size;
}

/** Copies a file of a pod to this machine. A local file is replaced when all of it has arrived. @throws Failure */
export async function copyFromPod(open: Open, remote: string, local: string): Promise<number> {
  const target = isFolder(local) ? join(local, basename(remote)) : local;
  const temporary = `${target}.svc-cp-${randomBytes(8).toString('hex')}`;
  const socket = await open(['sh', '-c', sendScript, 'svc', remote], false);
  const output = messages();
  const hash = createHash('sha256');
  let size = 0;
  const file = createWriteStream(temporary, { flags: 'wx' });
  // What cannot be written ends the session.
  file.once('error', () => socket.terminate());
  const content = new Writable({
    write(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      file.write(chunk, done);
    },
    final: (done) => void file.end(done),
  });
  // The error of the file is reported when the session has ended.
  content.on('error', () => undefined);
  try {
    const end = await runSession(socket, { stdout: content, stderr: output.stream, terminal: false });
    if (file.errored) throw failure(`Cannot write ${target}: ${reasonOf(file.errored)}.`);
    checkEnd(end, output.text());
    await new Promise<void>((resolve, reject) => content.once('error', reject).end(resolve));
    const [checksum] = output.text().split(' ', 1);
    if (checksum !== hash.digest('hex')) throw failure(`${remote} changed while it was copied.`);
    renameSync(temporary, target);
    return size;
  } finally {
    // A file that is still being opened would be created after its removal.
    if (!file.closed) await new Promise<void>((resolve) => file.once('close', () => resolve()).destroy());
    rmSync(temporary, { force: true });
  }
}

async function readChecksum(file: string): Promise<{ size: number; checksum: string }> {
  if (isFolder(file)) {
    const hint = `pack it: tar c ${file} | svc app exec -i <app> -- tar x -C <folder>`;
    throw usageFailure(`${file} is a folder; svc app cp copies files.`, hint);
  }
  const hash = createHash('sha256');
  let size = 0;
  try {
    await pipeline(createReadStream(file), async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        hash.update(chunk);
        size += chunk.length;
      }
    });
  } catch (error) {
    throw usageFailure(`Cannot read ${file}: ${reasonOf(error)}.`);
  }
  return { size, checksum: hash.digest('hex') };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Keeps the beginning of what a program says. */
function messages() {
  let beginning = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      beginning = (beginning + chunk.toString()).slice(0, messageMax);
      done();
    },
  });
  return { stream, text: () => beginning.trim() };
}

function checkEnd(end: SessionEnd, output: string): void {
  if ('exitCode' in end && end.exitCode === 0) return;
  if ('lost' in end) throw failure(`The session ended: ${end.lost}`);
  if ('failure' in end) {
    throw failure(`The command could not run: ${end.failure}`, 'copying needs sh, cat, mv and sha256sum in the image');
  }
  throw failure(output === '' ? `The command ended with exit code ${end.exitCode}.` : output);
}

function failure(message: string, hint?: string): Failure {
  return new Failure(message, { code: 'copy_failed', hint });
}
