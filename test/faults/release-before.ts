// Earlier code from the history of this repository, to run beside this one or ahead of it.
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
/** The last commit whose workers know nothing of detached steps. */
const BEFORE_DETACHED_STEPS = '5978a75e25d3fc69eb2fc07b91a20f56e95ed374'

type Closer = Parameters<typeof later>[0]

const run = promisify(execFile)

async function git(...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, { cwd: ROOT }).catch((error) =>
    assert.fail(`This test needs the history of the repository (git fetch --unshallow): ${error.message}`),
  )
  return stdout.trim()
}

/** The program of 0.1.0. */
export const provideBefore = (t: Closer): Promise<Program> => provideProgram(t, BEFORE)

export const provideBeforeDetachedSteps = (t: Closer): Promise<Program> =>
  provideProgram(t, BEFORE_DETACHED_STEPS)

/** The program as it was before the newest migration was added. */
export async function provideBeforeMigration(t: Closer): Promise<Program> {
  const migrations = 'server/platform/database/migrations/[0-9]*.ts'
  const newest = await git('log', '-1', '--diff-filter=A', '--format=%H', '--', migrations)
  return provideProgram(t, `${newest}^`)
}

/** With our dependencies. */
async function provideProgram(t: Closer, commit: string): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-before-'))
  later(t, () => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const archive = join(folder, 'archive.tar')
  await git('archive', '--output', archive, commit)
  await run('tar', ['-xf', archive, '-C', folder])
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return [process.execPath, join(folder, 'server/main.ts')]
}
