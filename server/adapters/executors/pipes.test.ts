import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { createPipeMaker } from './pipes.ts'

const folder = await mkdtemp(join(tmpdir(), 'gantry-pipes-test-'))
after(() => rm(folder, { recursive: true }))

const mkfifo = async (paths: string[]) => {
  if (paths[0]!.startsWith('/dev/shm/')) throw new Error('No space left on device')
  execFileSync('mkfifo', ['-m', '666', ...paths])
}

suite('pipes', () => {
  for (const [where, folders] of Object.entries({
    'in the first folder that exists': [join(folder, 'missing'), folder],
    'in the first folder where they can be created': ['/dev/shm', folder],
  })) {
    test(`are created ${where}, and leave no names behind`, async () => {
      const pipes = createPipeMaker(folders, mkfifo)
      const { stdin, stdout, handedOver } = await pipes.take()
      const ended = once(stdout.resume(), 'end')
      handedOver()
      await ended
      stdin.destroy()
      stdout.destroy()
      await pipes.close()
      assert.deepEqual(await readdir(folder), [])
    })
  }

  test('that can be created nowhere are an error', async () => {
    const pipes = createPipeMaker([join(folder, 'missing'), join(folder, 'missing, too')], mkfifo)
    await assert.rejects(pipes.take(), /ENOENT/)
    await pipes.close()
  })
})
