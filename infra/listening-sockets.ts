/** The listening sockets of a table in the form of /proc/net/tcp. Pure. */
export function listeners(table: string): { port: number; inode: string }[] {
  const listening = '0A';
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state !== listening || inode === undefined) return [];
    return [{ port: Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16), inode }];
  });
}
