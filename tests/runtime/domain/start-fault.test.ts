import t from 'tap';
import { readExecEnd } from '../../../runtime/contracts/exec-channels.ts';
import { startFault } from '../../../runtime/domain/start-fault.ts';

/** As containerd 2 and runc 1.3 report a program that the image does not have. */
const exec =
  'failed to exec in container: failed to start exec "c89ad2b891f4": OCI runtime exec failed: exec failed: unable to start container process: exec: "migrate": executable file not found in $PATH: unknown';
const create =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "/app/migrate": stat /app/migrate: no such file or directory: unknown';

t.test('the program and the reason are found in what the container runtime says', (t) => {
  t.equal(startFault(exec), 'Cannot start "migrate": executable file not found in $PATH');
  t.equal(startFault(create), 'Cannot start "/app/migrate": no such file or directory');
  t.equal(
    startFault('unable to start container process: exec: "/etc/passwd": permission denied'),
    'Cannot start "/etc/passwd": permission denied',
  );
  for (const other of ['', 'boom', 'exec: "x": not found', 'unable to start container process: boom']) {
    t.equal(startFault(other), undefined, other);
  }
  t.end();
});

t.test('a command that cannot run names the reason, without what the cluster puts before it', (t) => {
  const end = (message: string) => readExecEnd(Buffer.from(JSON.stringify({ status: 'Failure', message })));
  const wrapped = 'Internal error occurred: Internal error occurred: error executing command in container: ';
  t.same(end(`${wrapped}${exec}`), { failure: 'Cannot start "migrate": executable file not found in $PATH' });
  t.same(end(`${wrapped}the container is gone`), { failure: 'the container is gone' });
  t.end();
});
