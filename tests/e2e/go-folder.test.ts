import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

/** A Go module without a Dockerfile. */
const platform = await runningPlatform();

/** With net/http, whose packages no build compiles itself. */
const program = `package main

import (
	"log"
	"net/http"
	"os"

	"example.com/shop/price"
)

func main() {
	page, err := os.ReadFile("pages/welcome.txt")
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		answer.Write([]byte(string(page) + price.Text()))
	})
	log.Fatal(http.ListenAndServe(":"+os.Getenv("PORT"), nil))
}
`;
const priceOf = (text: string) => `package price\n\nfunc Text() string { return "${text}" }\n`;

interface Deployed {
  url: string;
}

t.test('a Go module is compiled, and its program runs among the files of the folder', async (t) => {
  const { flags } = await testProject(t, platform);
  const folder = t.testdir();
  const write = (files: Record<string, string>) => {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  };
  for (const name of ['pages', 'price']) mkdirSync(join(folder, name));
  write({
    'go.mod': 'module example.com/shop\n\ngo 1.22\n',
    'main.go': program,
    'pages/welcome.txt': 'welcome ',
    'price/price.go': priceOf('1 euro'),
  });
  const deploy = () => platform.svc(['deploy', folder, '--name', 'shop', '-o', 'json', ...flags]);
  const first = await deploy();
  t.equal(first.code, 0, first.stderr);
  t.match(first.stderr, /Go app/);
  const { url } = JSON.parse(first.stdout) as Deployed;
  const serves = (text: string) =>
    eventually(
      () => platform.request(url),
      ({ status, body }) => status === 200 && body === text,
    );
  await serves('welcome 1 euro');

  write({ 'price/price.go': 'package price\n\nfunc Text() string { return 1 }\n' });
  const broken = await deploy();
  t.equal(broken.code, 1);
  t.match(broken.stderr, /price\/price\.go:3:\d+: cannot use 1 .* as string value/, 'the message of the compiler');
  await serves('welcome 1 euro');

  write({ 'price/price.go': priceOf('2 euros') });
  const second = await deploy();
  t.equal(second.code, 0, second.stderr);
  await serves('welcome 2 euros');
  if (platform.info.target !== 'cluster') return;
  const search = await platform.svc(['app', 'exec', 'shop', ...flags, '--', 'sh', '-c', 'command -v go || echo none']);
  t.match(search.stdout, 'none', 'the toolchain is not in the image');
});
