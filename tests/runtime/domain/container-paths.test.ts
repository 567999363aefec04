import t from 'tap';
import { checkHealthPath, checkMountPath } from '../../../runtime/domain/container-paths.ts';

t.test('a mount path is absolute, plain and not one of the container runtime', (t) => {
  for (const path of ['/data', '/var/lib/my data', '/a.b/..c', '/processes', '/données', '/devices/a']) {
    t.equal(checkMountPath(path), path);
    t.equal(checkMountPath(`${path}/`), path, 'with a slash at its end');
  }
  for (const path of [
    '',
    '/',
    '//',
    '///',
    'data',
    './data',
    '/a//b',
    '/a//',
    '/a/./b',
    '/a/..',
    '/..',
    '/a:b',
    '/a\0b',
    '/a\nb',
    '/\u007f',
    '/\u0085',
  ]) {
    t.throws(
      () => checkMountPath(path),
      { code: 'invalid_value', message: /is not a valid mount path/, details: { field: 'volumes' } },
      encodeURIComponent(path),
    );
  }
  for (const path of ['/proc', '/proc/', '/proc/1/root', '/sys', '/sys/fs/cgroup', '/dev', '/dev/shm']) {
    t.throws(() => checkMountPath(path), { code: 'invalid_value', message: /belongs to the system/ }, path);
  }
  t.end();
});

t.test('a health path cannot end the line of its request or name another host', (t) => {
  for (const path of ['/', '/healthz', '/a/b?c=d&e=%20', '/café']) checkHealthPath(path);
  for (const path of [
    '',
    'healthz',
    '//example.com/',
    '/a b',
    '/a\r\nX-Injected: 1',
    '/a\nb',
    '/a\tb',
    '/a\0',
    '/\u0085',
    '/\u2028',
  ]) {
    t.throws(
      () => checkHealthPath(path),
      { code: 'invalid_value', message: /is not a valid health path/, details: { field: 'healthPath' } },
      encodeURIComponent(path),
    );
  }
  t.end();
});
