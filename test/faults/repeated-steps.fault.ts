// Every built-in step of a deploy is interrupted at every point, and repeated by the next attempt. Afterward the server is as
// if nothing had happened.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { lstat, mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { healthTry } from '#model/deploy/check-health.ts'
import {
  activateRelease,
  applicationCommand,
  checkAppEnvironment,
  extractRelease,
  finishRelease,
  listReleases,
  removeReleases,
  revertRelease,
  settleRelease,
  takeLock,
} from '#model/deploy/commands.ts'
import {
  archiveOf,
  attempt,
  demand,
  deploy,
  fetchRelease,
  liveIn,
  makeBase,
  release,
  releasesIn,
  temporaryFolder,
  treeOf,
} from '#model/deploy/fixtures.ts'
import { readReleases, releasesToRemove } from '#model/deploy/remove-old-releases.ts'
import { readSharedPaths } from '#model/deploy/shared-paths.ts'
import { copyOf, interruptEverywhere, type Perform, type Step } from '#model/deploy/test-interruptions.ts'

/** The run whose step is interrupted; what was there before is by others. */
const RUN = 'interrupted'
const by = (number: number) => attempt(RUN, number)
const FILES = {
  'config/app.json': '{}',
  'public/uploads/one': '1',
  'public/uploads/two': '2',
  main: 'x'.repeat(2_000),
}

/** The outcome of a repetition is that of an undisturbed second attempt: the files, and what its last command prints. */
async function survives(t: TestContext, template: string, step: Step, least: number): Promise<void> {
  const undisturbed = await copyOf(template, await temporaryFolder(t))
  const said = await step(undisturbed, 2, demand)
  const expected = await treeOf(undisturbed)
  const states = await interruptEverywhere(t, template, step, async (base, where) => {
    assert.equal(await step(base, 2, demand), said, where)
    assert.deepEqual(await treeOf(base), expected, where)
  })
  assert.ok(states >= least, `${states} states`)
}

/** A server with two releases that were live, and a third one of this run. */
async function makeServer(t: TestContext) {
  const base = await makeBase(t)
  const archive = await archiveOf(t, FILES)
  for (const day of [1, 2]) await deploy(base, { who: attempt(`run-${day}`), name: release(day), archive })
  await fetchRelease(base, { who: by(1), name: release(3), archive })
  return { base, archive }
}

suite('a step that is interrupted at any point and repeated', () => {
  test('check-app-environment', async (t) => {
    const folder = await temporaryFolder(t)
    await mkdir(join(folder, 'nothing'))
    const withoutNumbers = (output: string) => output.replace(/\d+ MiB/, '').replaceAll(/folder .*/g, '')
    const check: Step = async (base, _, perform) => withoutNumbers(await perform(checkAppEnvironment(base)))
    await survives(t, join(folder, 'nothing'), check, 5)
    await survives(t, (await makeServer(t)).base, check, 3)
  })

  test('get-new-release: the next attempt makes another release', async (t) => {
    const { base: template, archive } = await makeServer(t)
    const paths = readSharedPaths(['public/uploads', 'config/app.json', 'log/'])
    assert.ok(paths.kind === 'paths')
    const step: Step = async (base, number, perform) => {
      const [who, name] = [by(number), release(9 + number)]
      await perform(takeLock(base, who))
      await perform(extractRelease(base, who, name), archive)
      return perform(finishRelease(base, who, name, paths.paths))
    }
    const undisturbed = await copyOf(template, await temporaryFolder(t))
    const said = lastLine(await step(undisturbed, 2, demand))
    const expected = await treeOf(undisturbed)
    const whole = await treeOf(join(undisturbed, 'releases', release(11)))
    const states = await interruptEverywhere(t, template, step, async (base, where) => {
      assert.equal(lastLine(await step(base, 2, demand)), said, where)
      const first = join(base, 'releases', release(10))
      if ((await releasesIn(base)).includes(release(10))) assert.deepEqual(await treeOf(first), whole, where)
      // Removed with the old releases.
      await rm(first, { recursive: true, force: true })
      assert.deepEqual(await treeOf(base), expected, where)
    })
    assert.ok(states >= 20, `${states} states`)
  })

  test('install-dependencies and build-application: the next attempt builds in another release', async (t) => {
    const { base: template, archive } = await makeServer(t)
    const built = applicationCommand(
      'build-application',
      'mkdir out\ncp main out/main\necho done > out/state',
    )
    assert.ok(built.kind === 'command')
    const build = (base: string, name: string) => ({
      command: `cd -- "$FOLDER"\n${built.command}`,
      environment: { FOLDER: join(base, 'releases', name) },
    })
    const start = (base: string, name: string, perform: Perform) => perform(build(base, name))
    const startOver = async (base: string) => {
      await fetchRelease(base, { who: by(2), name: release(4), archive })
      await start(base, release(4), demand)
      await demand(activateRelease(base, by(2), release(4)))
      await removeOld(base, 2, demand)
      return treeOf(base)
    }
    const expected = await startOver(await copyOf(template, await temporaryFolder(t)))
    const step: Step = (base, _, perform) => start(base, release(3), perform)
    const states = await interruptEverywhere(t, template, step, async (base, where) => {
      assert.deepEqual(await startOver(base), expected, where)
    })
    assert.ok(states >= 3, `${states} states`)
  })

  /** As a new attempt begins: it has the lock, and switches, whatever the first one did. */
  const activate =
    (day: number): Step =>
    async (base, number, perform) => {
      if (number > 1) await demand(takeLock(base, by(number)))
      return perform(activateRelease(base, by(number), release(day)))
    }

  test('activate-new-release', async (t) => {
    const { base } = await makeServer(t)
    await survives(t, base, activate(3), 6)
    assert.equal(await liveIn(base), `releases/${release(2)}`)
    await survives(t, base, activate(1), 6)
    await survives(t, base, activate(2), 4)
    await rm(join(base, 'current'))
    await survives(t, base, activate(3), 5)
  })

  test('activate-new-release, after what is live was asked for', async (t) => {
    const { base } = await makeServer(t)
    const settleFirst: Step = async (copy, number, perform) => {
      if (number > 1) await demand(settleRelease(copy, by(2)))
      return activate(3)(copy, number, perform)
    }
    await survives(t, base, settleFirst, 6)
  })

  test('asking what is live after an interrupted switch', async (t) => {
    const { base } = await makeServer(t)
    await survives(
      t,
      base,
      (copy, number, perform) => perform(settleRelease(copy, by(number + 1))).then(ignore),
      1,
    )
  })

  test('check-health', async (t) => {
    const { base } = await makeServer(t)
    const server = createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const limits = { timeout_seconds: 20, interval_seconds: 1, within_seconds: 60, healthy_for_seconds: 0 }
    const web = {
      type: 'http' as const,
      url: `http://127.0.0.1:${port}/`,
      expect_status: 200,
      expect_body: null,
    }
    for (const check of [
      { ...limits, ...web },
      { ...limits, type: 'tcp' as const, port },
    ]) {
      const { asks, read } = healthTry(check)
      const ask: Step = async (_base, _number, perform) =>
        read({ kind: 'exited', code: 0 }, Buffer.from(await perform(asks)), 0).isHealthy
      await survives(t, base, ask, 1)
    }
  })

  test('remove-old-releases', async (t) => {
    const { base, archive } = await makeServer(t)
    for (const day of [4, 5]) await deploy(base, { who: attempt(`run-${day}`), name: release(day), archive })
    await demand(takeLock(base, by(1)))
    await survives(t, base, removeOld, 8)
  })

  test('revert-release', async (t) => {
    const { base } = await makeServer(t)
    await demand(activateRelease(base, by(1), release(3)))
    const releases = { release: release(3), before: release(2) }
    await survives(
      t,
      base,
      (copy, number, perform) => perform(revertRelease(copy, by(number), releases)).then(lastLine),
      3,
    )
  })
})

/** What the step does with the list. */
const removeOld: Step = async (base, number, perform) => {
  const found = readReleases(await perform(listReleases(base)))!
  const names = releasesToRemove(found, 2)
  if (names.length > 0 || found.hasLeftovers) await perform(removeReleases(base, by(number), names))
}

const ignore = () => {}
const lastLine = (output: unknown) => String(output).trim().split('\n').at(-1)

test('a switch that has happened is not repeated: what was live before is printed again', async (t) => {
  const { base } = await makeServer(t)
  const said = await demand(activateRelease(base, by(1), release(3)))
  const { ino } = await lstat(join(base, 'current'))
  await demand(takeLock(base, by(2)))
  assert.equal(await demand(activateRelease(base, by(2), release(3))), said)
  assert.equal((await lstat(join(base, 'current'))).ino, ino)
  await assert.rejects(demand(activateRelease(base, by(1), release(3))), /Another deploy of this application/)
})
