// Several test files in one process: see scripts/test-batches.mjs.
import assert from 'node:assert/strict'
import { readdir, readFile, rm, rmdir, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { beginBatch, endBatch } from './batch-end.ts'

/**
 * The modules of test files stay in memory, and with them the apps that they opened. In a process of a gigabyte, a
 * collection of garbage and the start of a process cost several times what they do in a fresh one.
 */
const LARGE = 600 * 2 ** 20

/**
 * Runs what is left in the queue, unless others follow and this process has become large: each file to its end, with
 * what it does after its last test, before the next one.
 */
export async function runQueue(runner: string, isLast = true): Promise<void> {
  await rm(runner)
  beginBatch()
  const queue = join(dirname(runner), 'queue')
  for (const entry of (await ifPresent(readdir(queue)))?.sort() ?? []) {
    if (!isLast && process.memoryUsage.rss() > LARGE) break
    const file = await take(join(queue, entry))
    if (file !== undefined) await runFile(file)
  }
  await endBatch()
  // The last one takes the folders with it.
  await rmdir(queue).catch(() => {})
  await rmdir(dirname(queue)).catch(() => {})
}

/** The test file of an entry; undefined when another process has it. */
const take = (entry: string) =>
  ifPresent(readFile(entry, 'utf8').then((file) => unlink(entry).then(() => file)))

function ifPresent<Result>(read: Promise<Result>): Promise<Result | undefined> {
  return read.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
}

async function runFile(file: string): Promise<void> {
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

const stateOfProcess = () => ({ environment: { ...process.env }, directory: process.cwd() })
