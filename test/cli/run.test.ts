// Commands about runs, against a service with a worker: in scripts, in pipes and on terminals.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { openProxy } from '#test/client/proxy.ts'
import { CLI, openShell, USERS_NODE } from '#test/support/cli.ts'
import { deployWith, type StepInput } from '#test/support/inventory.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { openTerminal } from '#test/support/terminal.ts'
import { until } from '#test/support/until.ts'
import { createAccessToken } from '#test/support/world.ts'

const world = await openRunWorld({ after }, { roles: ['api', 'worker'] })
const url = world.processes[0]!.url!
const shell = await openShell({ after }, { GANTRY_URL: url, GANTRY_TOKEN: world.owner.token })
const { gantry } = shell

/** A pipeline that is named `<name>` and runs these commands on a server. */
async function pipeline(name: string, commands: Record<string, string>) {
  const steps: StepInput[] = Object.entries(commands).map(([step, command]) => ({ name: step, command }))
  return world.makeCustom(steps, { pipeline: { name }, server: { name: 'box' } })
}

const newestOf = async (pipelineId: number) =>
  (await world.ask('GET', `/actions?filter[pipeline_id]=${pipelineId}`)).body[0]

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await gantry([...args, '--json'])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

/** On a terminal, with the environment of the shell. */
const onTerminal = (t: Parameters<typeof openTerminal>[0], args: string[], size = {}, env = {}) =>
  openTerminal(t, [USERS_NODE, CLI, ...args], { env: { ...shell.env, ...env }, ...size })

const ok = await pipeline('Fine', { hello: 'echo "hello $GANTRY_VAR_WHO"', bye: 'echo bye' })
const bad = await pipeline('Broken', {
  build: 'echo building',
  migrate: 'echo no table; exit 3',
  after: 'true',
})

suite('in a shell script', () => {
  test('the exit code of `run --wait` says how it ended', async () => {
    const gates = { cancel: world.makeGate('cancel'), interrupt: world.makeGate('interrupt') }
    await pipeline('Canceled', { hang: gates.cancel.command })
    await pipeline('Interrupted', { hang: gates.interrupt.command })
    const script = join(shell.folder, 'deploy.sh')
    await writeFile(
      script,
      `gantry() { "${USERS_NODE}" "${CLI}" "$@"; }
gantry run fine --wait; echo "completed: $?"
gantry run broken --wait; echo "failed: $?"
gantry run fine --var nonsense --wait; echo "usage: $?"
gantry run canceled --wait & run=$!
until [ -e '${gates.cancel.held}' ]; do sleep 0.05; done
gantry cancel canceled
wait $run; echo "canceled: $?"
GANTRY_TOKEN=wrong gantry run fine --wait; echo "not signed in: $?"
GANTRY_URL=http://127.0.0.1:1 gantry run fine --wait; echo "unreachable: $?"
gantry run fien --wait; echo "refused: $?"
"${USERS_NODE}" "${CLI}" run interrupted --wait & run=$!
until [ -e '${gates.interrupt.held}' ]; do sleep 0.05; done
kill -INT $run
wait $run; echo "interrupted: $?"
`,
    )
    const { stdout, stderr } = await promisify(execFile)('bash', [script], { env: shell.env })
    const codes = stdout.split('\n').filter((line) => /^[a-z ]+: \d+$/.test(line))
    assert.deepEqual(
      codes,
      [
        'completed: 0',
        'failed: 1',
        'usage: 2',
        'canceled: 3',
        'not signed in: 4',
        'unreachable: 5',
        'refused: 6',
        'interrupted: 130',
      ],
      stderr,
    )
    assert.match(stderr, /^✓ #\d+ completed in \d+ m?s$/m)
    assert.match(stderr, /^Step "migrate" failed on box\n {2}│ no table\n/m)
    assert.match(stderr, /gantry logs (\d+) --failed\nRun it again: gantry retry \1$/m)
    assert.match(stderr, /^- #\d+ was canceled/m)
    assert.match(stderr, /There is no pipeline "fien".*\nDid you mean:\n.*fine/)
    assert.match(stderr, /^Interrupted\. The run continues; `gantry cancel (\d+)` stops it\.$/m)
    assert.doesNotMatch(stderr, /\n\s+at /)
    const [, id] = /gantry cancel (\d+)/.exec(stderr)!
    assert.equal((await world.show(Number(id))).status, 'in-progress')
    await gates.interrupt.open()
    await world.completed(Number(id))
  })
})

suite('in a pipe', () => {
  test('there is nothing to watch when nothing is running', async () => {
    const { code, stderr } = await gantry(['watch'])
    assert.equal(code, 6)
    assert.match(stderr, /^gantry: Nothing is running\.\n/)
  })

  test('a run is started with what is given, and its number and address are printed', async () => {
    const { code, stdout } = await gantry([
      ...['run', 'fine', '--var', 'who=007', '--comment', 'because'],
      ...['--server', `#${ok.serverId}`],
    ])
    assert.equal(code, 0)
    const action = await newestOf(ok.pipelineId)
    assert.equal(stdout, `#${action.id}\t${url}/app/actions/${action.id}\n`)
    assert.equal(action.trigger_comment, 'because')
    await world.completed(action.id)
    assert.equal(await world.logOf(action.id, 'hello'), 'hello 007\n')
    const started = await json('run', 'fine')
    assert.ok(started.id > action.id)
    assert.equal((await json('run', 'fine', '--wait')).status, 'completed')
  })

  test('--watch prints a line for each change, with its time', async () => {
    const { code, stdout, stderr } = await gantry(['run', 'broken', '--watch'])
    assert.equal(code, 1, stderr)
    const [first, ...lines] = stdout.split('\n')
    const [, id] = /^#(\d+)\thttp/.exec(first!)!
    const changes = lines
      .filter((line) => /^\d{4}-\d\d-\d\dT[\d:.]+Z /.test(line))
      .map((line) => line.replace(/^\S+ /, '').replace(/ after \d+ m?s$/, ' after a while'))
    const of = (who: string) => changes.filter((line) => line.startsWith(who))
    assert.deepEqual(
      of('#'),
      ['Queued', 'In progress', 'Failed after a while'].map((state) => `#${id}: ${state}`),
    )
    assert.deepEqual(of('box:'), ['box: Queued', 'box: In progress', 'box: Failed after a while'])
    assert.deepEqual(of('box '), [
      'box build: In progress',
      'box build: Completed after a while',
      'box migrate: In progress',
      'box migrate: Failed after a while',
    ])
    assert.match(stdout, new RegExp(`✗ #${id} failed after .*\nStep "migrate" failed on box\n  │ no table\n`))
    const watched = await gantry(['watch', `${id}`, '--json'])
    assert.equal(watched.code, 1)
    assert.equal(JSON.parse(watched.stdout).status, 'failed')
    assert.match(watched.stderr, /box migrate: Failed/)
  })
})

suite('on a terminal', () => {
  test('--watch draws steps in place with the end of their logs, at any width, and leaves a summary', async (t) => {
    const gate = world.makeGate('live')
    await pipeline('Live', {
      'get-ready': 'echo ready',
      build: `for n in 1 2 3 4 5 6 7; do echo "line $n of a log that is longer than forty columns"; done; ${gate.command}`,
      finish: 'true',
    })
    const terminal = await onTerminal(t, ['run', 'live', '--watch'])
    await terminal.sees('│ line 7')
    const wide = terminal.shown()
    assert.match(wide, /^#(\d+) {2}http:\S+\n[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] #\1 Live shop\/environment-\d+\/box {2}\d+ m?s\n/)
    assert.match(wide, /\n {4}✓ get-ready {2}\d+ m?s\n {4}[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] build {6}\d+ m?s\n/)
    assert.deepEqual(
      wide.match(/│ line \d of a log that is longer than forty columns$/gm)?.map((line) => line[7]),
      ['3', '4', '5', '6', '7'],
    )
    assert.match(wide, /\n {4}· finish$/)
    // A frame that was on its way when the terminal became narrow leaves a rest of itself: of five times, it happens to some.
    const resized: string[] = []
    for (let time = 0; time < 5 && !resized.includes('drawn in place'); time += 1) {
      const another = await onTerminal(t, ['watch', 'live'])
      await another.sees('│ line 7')
      await another.resize(40, 24)
      await another.sees(/│ line 7 of a log that is longer…/)
      const narrow = another.shown()
      await another.resize(100, 24)
      await another.sees(/│ line 7 of a log that is longer than forty columns/)
      const isInPlace = [narrow, another.shown()].every((shown) => shown.match(/line 7/g)?.length === 1)
      resized.push(isInPlace && /^[^\n]{1,40}(\n[^\n]{1,40})*$/.test(narrow) ? 'drawn in place' : narrow)
      another.press('ctrl-c')
      await another.ended
    }
    assert.ok(resized.includes('drawn in place'), resized.join('\n---\n'))
    await gate.open()
    assert.equal(await terminal.ended, 0)
    const end = terminal.shown()
    assert.match(end, /\n {4}✓ finish +\d+ m?s\n✓ #\d+ completed in \d+ m?s\nhttp\S+\/app\/actions\/\d+$/)
    assert.doesNotMatch(end, /│|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
  })

  test('Ctrl-C ends the watching, not the run', async (t) => {
    const gate = world.makeGate('ctrl-c')
    await pipeline('Endless', { hang: gate.command })
    const terminal = await onTerminal(t, ['run', 'endless', '--watch'])
    await terminal.sees(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] hang/)
    await gate.reached()
    terminal.press('ctrl-c')
    assert.equal(await terminal.ended, 130)
    const [, id] = /The run continues; `gantry cancel (\d+)` stops it\.$/.exec(
      terminal.shown().replaceAll('\n', ' '),
    )!
    assert.equal((await world.show(Number(id))).status, 'in-progress')
    const watching = await onTerminal(t, ['watch'], { columns: 40, rows: 12 })
    await watching.sees(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] hang/)
    await gate.open()
    assert.equal(await watching.ended, 0)
  })
})

suite('when the connection is lost', () => {
  test('watching resumes after a cut and after a restart of the service', async (t) => {
    const gate = world.makeGate('restart')
    await pipeline('Patient', { before: 'echo one', hang: gate.command, later: 'echo two' })
    const proxy = await openProxy(t, url)
    const terminal = await onTerminal(t, ['run', 'patient', '--watch'], {}, { GANTRY_URL: proxy.url })
    await terminal.sees(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] hang/)
    const piped = shell.start(['watch', 'patient'])
    await until('the pipe watches', 30_000, () => piped.output.stdout.includes('hang: In progress'))
    proxy.cut()
    await terminal.sees('Connection lost, reconnecting…')
    await world.processes[0]!.stop()
    await until('the pipe says so', 30_000, () =>
      piped.output.stderr.includes('Connection lost, reconnecting…'),
    )
    world.processes[0] = await world.start('api', { PORT: new URL(url).port })
    await gate.open()
    assert.equal(await terminal.ended, 0)
    assert.match(terminal.shown(), /✓ before .*\n.*✓ hang .*\n.*✓ later .*\n✓ #\d+ completed/)
    assert.doesNotMatch(terminal.shown(), /reconnecting/)
    const { code, stdout } = await piped.ended
    assert.equal(code, 0)
    assert.equal(stdout.match(/later: Completed/g)?.length, 1)
  })

  test('a token that is revoked meanwhile ends it with 4', async () => {
    const gate = world.makeGate('revoked')
    const { pipelineId } = await pipeline('Guarded', { hang: gate.command })
    const id = await world.run(pipelineId)
    await gate.reached()
    const token = await createAccessToken(world.db, world.owner.id)
    const env = { GANTRY_TOKEN: token }
    const watching = shell.start(['watch', `#${id}`], { env })
    await until('it watches', 30_000, () => watching.output.stdout.includes('hang: In progress'))
    assert.equal((await gantry(['api', 'POST', '/users/logout'], { env })).code, 0)
    const { code, stderr } = await watching.ended
    assert.equal(code, 4)
    assert.match(
      stderr,
      new RegExp(`#${id} may still be running: .gantry watch ${id}. follows it\\.\ngantry: .*token`),
    )
    await gate.open()
    await world.completed(id)
  })
})

suite('looking at runs', () => {
  test('logs of all steps, of one, of failed ones, and as they are printed', async () => {
    const { id } = await json('run', 'broken', '--wait').catch(() => newestOf(bad.pipelineId))
    const all = await gantry(['logs', `#${id}`])
    assert.equal(all.stdout, '== build\nbuilding\n== migrate\nno table\nThe command exited with code 3.\n')
    assert.equal((await gantry(['logs', 'broken', '--step', 'build'])).stdout, 'building\n')
    assert.match((await gantry(['logs', 'broken', '--failed'])).stdout, /^no table\n/)
    const unknown = await gantry(['logs', 'broken', '--step', 'bild'])
    assert.deepEqual([unknown.code, unknown.stderr.includes('It has: build, migrate, after.')], [6, true])
    const none = await gantry(['logs', 'fine', '--failed'])
    assert.deepEqual([none.code, /No step of #\d+ has failed/.test(none.stderr)], [6, true])
    const gate = world.makeGate('logs')
    const { pipelineId } = await pipeline('Chatty', { talk: `printf 'half a '; ${gate.command}; echo line` })
    await world.run(pipelineId)
    await gate.reached()
    const following = shell.start(['logs', 'chatty', '-f'])
    await gate.open()
    assert.equal((await following.ended).stdout, 'half a line\n')
  })

  test('open prints the address of a page, and opens it where there is a browser', async (t) => {
    const browser = join(shell.folder, 'browser')
    await writeFile(browser, `#!/bin/sh\nprintf '%s' "$1" > '${browser}.opened'\n`, { mode: 0o755 })
    const terminal = await onTerminal(t, ['open', '#7'], {}, { BROWSER: browser })
    assert.equal(await terminal.ended, 0)
    await until('the browser is open', 10_000, async () => {
      const opened = await readFile(`${browser}.opened`, 'utf8').catch(() => '')
      return opened === `${url}/app/actions/7`
    })
    assert.equal((await gantry(['open'])).stdout, `${url}/app\n`)
    assert.equal((await gantry(['open', '#7'])).stdout, `${url}/app/actions/7\n`)
    assert.equal((await gantry(['open', 'fine'])).stdout, `${url}/app/pipelines/${ok.pipelineId}\n`)
  })
})

suite('deploys', () => {
  test('an application is planned, deployed, rolled back to a release and retried by its name', async (t) => {
    const repository = await makeRepository(t, { files: { 'index.html': 'one' } })
    const environmentId = await world.makeEnvironment()
    const { pipelineId } = await world.makeDeployable({
      repository: repository.address,
      environmentId,
      application: { name: 'Storefront' },
      pipeline: { name: 'Deploy' },
      steps: deployWith({}),
    })
    await world.makePipeline(environmentId, [{ name: 'x', command: 'true' }], {
      ...{ name: 'Reindex', resource_type: 'application', operation: 'custom' },
      application_id: (await world.ask('GET', `/pipelines/${pipelineId}`)).body.resource_id,
    })
    const several = await gantry(['run', 'storefront', '--wait'])
    assert.equal(several.code, 6)
    assert.match(several.stderr, /storefront\/deploy.*\n.*storefront\/reindex/)
    const planned = await gantry(['plan', 'storefront/deploy', '--ref', 'v1.0'])
    assert.match(planned.stdout, /Source +tag v1\.0\nStarts +immediately\n/)
    assert.match(planned.stdout, /activate-new-release\t\(built in\)/)
    const missing = await gantry(['run', 'storefront/deploy', '--ref', 'v1.0', '--wait'])
    assert.equal(missing.code, 1)
    assert.match(missing.stderr, /"v1\.0" was read as a tag\. If it is a branch: --ref heads\/v1\.0\n/)
    await repository.tag('v1.0', 'main')
    const first = await json('run', 'storefront/deploy', '--ref', 'v1.0', '--wait')
    await repository.commit({ 'index.html': 'two' })
    await json('run', 'storefront/deploy', '--wait')
    const { release_name } = first.action_data
    const back = await json('rollback', 'storefront', '--to', release_name, '--wait')
    assert.deepEqual(
      [back.action_data.deployment.type, back.action_data.release_name],
      ['rollback', release_name],
    )
    const wrong = await gantry(['rollback', 'storefront', '--to', 'yesterday'])
    assert.equal(wrong.code, 6)
    assert.match(wrong.stderr, /release_name: /)
    const again = await json('retry', 'storefront/deploy', '--wait')
    assert.equal(again.retry_of, back.id)
  })
})

test('`changes` and `plan` show what a deploy ships', async (t) => {
  const repository = await makeRepository(t, { files: { 'a.txt': 'a' } })
  const shop = await world.makeDeployable({ repository: repository.address, pipeline: { name: 'Ship' } })
  const first = await world.completed(await world.run(shop.pipelineId))
  const none = await gantry(['changes', String(first.id)])
  assert.match(none.stdout, /nothing → [0-9a-f]{8}\nNothing was live on these servers before\./)
  await repository.commit({ 'a.txt': null, 'b\u001b[2J.txt': 'a' }, { message: 'Move\u001b[2J it' })
  const planned = await gantry(['plan', String(await pathOf(shop.pipelineId))])
  assert.equal(planned.code, 0, planned.stderr)
  assert.match(planned.stdout, /1 commit that ships/)
  const { id } = await world.completed(await world.run(shop.pipelineId))
  const { stdout, code } = await gantry(['changes', String(id)])
  assert.equal(code, 0)
  assert.match(stdout, /1 commit that ships\n[0-9a-f]{8}\tZoë\tMove.*it/)
  assert.match(stdout, /1 file changed\nrenamed\ta\.txt → b.*\.txt/)
  assert.ok(!stdout.includes('\u001b'))
  const found = await json('changes', String(id))
  assert.equal(found.comparisons[0].commits.total, 1)
})

/** As the command line finds it. */
async function pathOf(pipelineId: number): Promise<string> {
  const { body } = await world.ask('GET', '/names?type=pipeline')
  return body.find(({ id }: { id: number }) => id === pipelineId).path
}
