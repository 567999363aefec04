import t from 'tap';
import { clientName } from '../../../runtime/domain/client-name.ts';

const webKit = 'AppleWebKit/537.36 (KHTML, like Gecko)';

t.test('a User-Agent names a browser and a system, and nothing else of it is kept', (t) => {
  const names: [userAgent: unknown, name: string | undefined][] = [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on Windows'],
    [`Mozilla/5.0 (Windows NT 10.0) ${webKit} Chrome/140.0 Safari/537.36 Edg/140.0`, 'Edge on Windows'],
    [`Mozilla/5.0 (X11; CrOS x86_64) ${webKit} Chrome/140.0 Safari/537.36 OPR/120.0`, 'Opera on ChromeOS'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15', 'Safari on macOS'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) CriOS/140.0 Safari/604.1', 'Chrome on iOS'],
    [`Mozilla/5.0 (Linux; Android 15; Pixel) ${webKit} Chrome/140.0 Mobile Safari/537.36`, 'Chrome on Android'],
    ['Firefox/1', 'Firefox'],
    ['svc/0.21.0', 'svc'],
    ['curl/8.5.0', undefined],
    ['Linux', undefined],
    ['', undefined],
    [undefined, undefined],
    [['Firefox/1'], undefined],
  ];
  for (const [userAgent, name] of names) t.equal(clientName(userAgent), name, String(userAgent));
  t.end();
});
