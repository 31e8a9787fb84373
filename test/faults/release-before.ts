// The release before this one, to run beside it or ahead of it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { later } from '#test/support/later.ts'
import type { Program } from '#test/support/process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The last commit whose release was 0.1.0. */
const BEFORE = '5e36e0a8a6cbade7637e5f7bd76deb07f205f237'

/** The program of 0.1.0, from the history of this repository, with our dependencies. */
export async function provideBefore(t: Parameters<typeof later>[0]): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-0.1.0-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const run = promisify(execFile)
  const archive = join(folder, 'archive.tar')
  await run('git', ['archive', '--output', archive, BEFORE], { cwd: ROOT }).catch((error) =>
    assert.fail(`This test needs the history of the repository (git fetch --unshallow): ${error.message}`),
  )
  await run('tar', ['-xf', archive, '-C', folder])
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return [process.execPath, join(folder, 'server/main.ts')]
}
