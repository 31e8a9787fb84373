// A PostgreSQL server that can be frozen, and whose disk can be filled.
import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { later } from '#test/support/later.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'

type Closer = { after(fn: () => Promise<void>): void }

/** The database `gantry` is on a small disk of its own: when that is full, the server still has space for its log. */
export async function openFaultyPostgres(t: Closer) {
  const server = await openOwnPostgres(t)
  const { uid, gid } = server.account
  const parent = await mkdtemp(join(tmpdir(), 'gantry-disk-'))
  later(t, () => rm(parent, { recursive: true, force: true }))
  await chmod(parent, 0o755)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=96m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', parent])
  later(t, async () => void execFileSync('umount', ['-l', parent]))
  await server.start()
  await server.query(`create tablespace small location '${parent}'`)
  await server.query('create database gantry tablespace small')

  async function signal(name: NodeJS.Signals): Promise<void> {
    const [first] = (await readFile(join(server.data, 'postmaster.pid'), 'utf8')).split('\n')
    const postmaster = Number(first)
    const list = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
    for (const pid of [postmaster, ...list.split(' ').filter(Boolean).map(Number)]) process.kill(pid, name)
  }
  const ballast = join(parent, 'ballast')
  const thaw = () => signal('SIGCONT')
  later(t, () => thaw().catch(() => {}))

  return {
    ...server,
    freeze: () => signal('SIGSTOP'),
    thaw,
    /** To the last byte. */
    async fillDisk(): Promise<void> {
      const file = await open(ballast, 'w')
      try {
        for (const bytes of [2 ** 20, 4_096]) {
          const chunk = Buffer.alloc(bytes)
          while (await file.write(chunk).then(isWhole(bytes), isFull));
        }
      } finally {
        await file.close()
      }
    },
    freeDisk: () => rm(ballast),
  }
}

const isWhole = (bytes: number) => (written: { bytesWritten: number }) => written.bytesWritten === bytes
function isFull(error: NodeJS.ErrnoException): false {
  if (error.code !== 'ENOSPC') throw error
  return false
}
