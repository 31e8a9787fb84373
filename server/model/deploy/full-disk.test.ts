// Rolling back and reverting on a disk that has no room left. The disk is a tiny tmpfs in a mount namespace of its own.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import {
  activateRelease,
  checkAppEnvironment,
  demandSpace,
  extractRelease,
  finishRelease,
  listReleases,
  revertRelease,
  takeLock,
} from './commands.ts'
import { archiveOf, attempt, release, temporaryFolder } from './fixtures.ts'
import { baseFolder, type DeployCommand } from './layout.ts'
import { canActivateAgain, readReleases } from './remove-old-releases.ts'

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

async function openDisk(t: TestContext) {
  const folder = await temporaryFolder(t)
  const disk = join(folder, 'disk')
  const base = baseFolder(disk, 'shop')
  const archive = join(folder, 'archive.tar')
  await writeFile(archive, await archiveOf(t, { file: '1' }))
  const lines = [`mkdir ${quote(disk)}`, `mount -t tmpfs -o size=256k gantry ${quote(disk)}`]

  return {
    base,
    /** One after the other, each of which must succeed. */
    add(...commands: DeployCommand[]): void {
      for (const { command, environment } of commands) {
        const values = Object.entries(environment).map(([name, value]) => quote(`${name}=${value}`))
        const clean = `env -i PATH=${quote(process.env.PATH!)} ${values.join(' ')}`
        lines.push(`${clean} /bin/bash --norc -c ${quote(command)} < ${quote(archive)}`)
      }
    },
    addFailing({ command, environment }: DeployCommand): void {
      this.add({ command: `! (${command})`, environment })
    },
    deploy(run: string, day: number): void {
      const who = attempt(run)
      const name = release(day)
      this.add(takeLock(base, who), extractRelease(base, who, name), finishRelease(base, who, name, []))
      this.add(activateRelease(base, who, name))
    },
    /** To the last page. */
    fill: () => void lines.push(`! cat /dev/zero > ${quote(join(disk, 'fill'))} 2>/dev/null`),
    print: (text: string) => void lines.push(text),
    async run(): Promise<string> {
      const namespaces = process.getuid!() === 0 ? '-m' : '-rm'
      const script = join(folder, 'script')
      await writeFile(script, lines.map((line) => `${line} || exit 1`).join('\n'))
      const { stdout } = await promisify(execFile)('unshare', [namespaces, '/bin/bash', script]).catch(
        ({ stdout, stderr }) => assert.fail(`${stdout}\n${stderr}`),
      )
      return stdout
    },
  }
}

const lastOf = (output: string, start: string) =>
  output.split('\n').findLast((line) => line.startsWith(start))

suite('on a full disk', () => {
  test('a rollback to a release that is there switches, again and again', async (t) => {
    const { base, ...disk } = await openDisk(t)
    disk.add(checkAppEnvironment(base, { minFreeMiB: 0 }))
    for (const day of [1, 2, 3]) disk.deploy(`deploy-${day}`, day)
    disk.fill()
    for (const [index, day] of [2, 1, 3, 1].entries()) {
      const who = attempt(`rollback-${index}`)
      disk.add(checkAppEnvironment(base, { minFreeMiB: 0 }), takeLock(base, who), listReleases(base))
      disk.add(activateRelease(base, who, release(day)))
    }
    disk.add(listReleases(base))
    disk.print(`readlink ${quote(join(base, 'current'))}`)
    const output = await disk.run()
    assert.match(output, /^Free disk space: 0 MiB$/m)
    assert.equal(lastOf(output, 'releases/'), `releases/${release(1)}`)
    assert.equal(lastOf(output, 'Live before: '), `Live before: ${release(3)}`)
    const listed = readReleases(output.slice(output.lastIndexOf('Live now: ')))!
    assert.deepEqual([listed.live, listed.before], [release(1), release(3)])
    for (const day of [1, 2, 3]) assert.ok(canActivateAgain(listed, release(day)))
  })

  test('a rollback that fails later is reverted', async (t) => {
    const { base, ...disk } = await openDisk(t)
    disk.add(checkAppEnvironment(base, { minFreeMiB: 0 }))
    for (const day of [1, 2]) disk.deploy(`deploy-${day}`, day)
    disk.fill()
    const who = attempt('rollback')
    disk.add(takeLock(base, who), activateRelease(base, who, release(1)))
    disk.add(revertRelease(base, who, { release: release(1), before: release(2) }))
    disk.print(`readlink ${quote(join(base, 'current'))}`)
    assert.equal(lastOf(await disk.run(), 'releases/'), `releases/${release(2)}`)
  })

  test('of several attempts only the last one may switch, however full it is', async (t) => {
    const { base, ...disk } = await openDisk(t)
    disk.add(checkAppEnvironment(base, { minFreeMiB: 0 }))
    for (const day of [1, 2]) disk.deploy(`deploy-${day}`, day)
    disk.fill()
    for (const number of [1, 2, 3]) disk.add(takeLock(base, attempt('rollback', number)))
    disk.addFailing(activateRelease(base, attempt('rollback', 2), release(1)))
    disk.addFailing(takeLock(base, attempt('rollback', 2)))
    disk.print('echo late ones have failed')
    disk.add(activateRelease(base, attempt('rollback', 3), release(1)))
    disk.print(`ls -A ${quote(join(base, '.gantry'))}`)
    const output = await disk.run()
    assert.match(output, /late ones have failed\nLive before: .*\nLive now: .*\nactivated\nattempt\n/)
    assert.doesNotMatch(output, /\.next/)
  })

  test('a release cannot be fetched, and the same line as before a deploy says why', async (t) => {
    const { base, ...disk } = await openDisk(t)
    disk.add(checkAppEnvironment(base, { minFreeMiB: 0 }))
    disk.fill()
    disk.addFailing(demandSpace(base))
    const needed = 'at least 100 MiB are needed: free some space, then deploy again.'
    assert.equal(lastOf(await disk.run(), 'Only'), `Only 0 MiB are free in ${base}, ${needed}`)
  })
})
