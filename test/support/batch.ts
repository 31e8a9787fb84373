// Several test files in one process: see scripts/test-batches.mjs.
import assert from 'node:assert/strict'
import { rm, rmdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** Runs each file to its end, with what it does after its last test, before the next one is loaded. */
export async function runFiles(batch: string, files: string[]): Promise<void> {
  await rm(batch)
  // The last one takes the folder with it.
  await rmdir(dirname(batch)).catch(() => {})
  for (const file of files) {
    const before = stateOfProcess()
    const failure = await import(pathToFileURL(resolve(file)).href).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    // Node runs what was given to after() whenever no test is left, in order: this comes last.
    const ended = Promise.withResolvers<void>()
    after(() => ended.resolve())
    await test(`${file} ran to its end and left the process as it was`, () => {
      if (failure) throw failure.error
      assert.deepEqual(stateOfProcess(), before)
    })
    await ended.promise
  }
}

const stateOfProcess = () => ({ environment: { ...process.env }, directory: process.cwd() })
