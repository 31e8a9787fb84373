// The documentation is true: the settings table, the links, and the tours, typed line by line into a shell.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, glob, mkdir, mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { later } from '#test/support/later.ts'
import {
  ADMIN,
  ADMIN_ENVIRONMENT,
  type GantryProcess,
  startGantry,
  temporaryHome,
} from '#test/support/process.ts'
import { makeRepository } from '#test/support/repository.ts'
import { assertShown } from '#test/support/shown.ts'
import { startSshd } from '#test/support/sshd.ts'
import { configurationIn, renderConfiguration, withConfiguration } from '../../scripts/configuration-table.ts'

const root = join(import.meta.dirname, '../..')
const readPage = (path: string) => readFile(join(root, path), 'utf8')

const ADDRESS = 'http://127.0.0.1:7070'
const TYPED_WITHIN_MS = 120_000

const tour = readStations(await readPage('docs/tour.md'))
/** The guides start with the first stations of the tour: the address, the token, and how to call. */
const LOGGED_IN = 3

test('the table in docs/configuration.md is the one that the settings make', async () => {
  const page = await readPage('docs/configuration.md')
  assert.equal(configurationIn(page), renderConfiguration(), 'run: node scripts/configuration-table.ts')
  assert.equal(withConfiguration(page, renderConfiguration()), page)
})

test('the README fits on a few screens', async () => {
  const lines = (await readPage('README.md')).split('\n').length
  assert.ok(lines <= 160, `${lines} lines`)
})

test('every link between the documents leads somewhere', async () => {
  const broken: string[] = []
  for await (const page of glob(['*.md', 'docs/**/*.md'], { cwd: root })) {
    const source = await readFile(join(root, page), 'utf8')
    for (const [, link] of source.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)) {
      const target = resolve(root, dirname(page), link!)
      await stat(target).catch(() => broken.push(`${page}: ${link}`))
    }
  }
  assert.deepEqual(broken, [])
})

test('the tour shows what it says, line by line', async (t) => {
  const gantry = await startGantry(t, { GANTRY_HOME: await temporaryHome(t) })
  const password = /with the password (\S+) \(shown this once\)/.exec(gantry.output.join('\n'))?.[1]
  assert.ok(password, 'the first start shows a password')
  const stations = fillIn(tour, { 'PASSWORD=': `'${password}'` })
  assert.ok(stations.length >= 10, 'the tour was not found')
  await walk(stations, gantry, await temporaryFolder(t))
})

for (const guide of ['first-application', 'setting-up']) {
  test(`an empty Gantry deploys an application to two servers as docs/guides/${guide}.md says`, async (t) => {
    await deployFromScratch(t, readStations(await readPage(`docs/guides/${guide}.md`)))
  })
}

/** From an empty Gantry to a site on this machine and on one reached over SSH. */
async function deployFromScratch(t: TestContext, stations: Station[]) {
  assert.ok(stations.length >= 4, 'the stations were not found')
  const [folder, sshd, repository, gantry] = await Promise.all([
    temporaryFolder(t),
    startSshd(t),
    makeRepository(t, { files: { 'index.html': 'Welcome to the shop' } }),
    temporaryHome(t).then((home) =>
      startGantry(t, { GANTRY_HOME: home, GANTRY_SAMPLE: 'false', ...ADMIN_ENVIRONMENT }),
    ),
  ])
  const [here, web] = [join(folder, 'here'), join(folder, 'web')]
  // The account that logs in is another one under root.
  await mkdir(web)
  await chmod(web, 0o777)
  const own = {
    'PASSWORD=': `'${ADMIN.password}'`,
    'REPOSITORY=': repository.address,
    'HERE_ROOT=': here,
    'WEB_HOST=': '127.0.0.1',
    'WEB_PORT=': String(sshd.port),
    'WEB_ACCOUNT=': sshd.accounts[0]!.name,
    'WEB_ROOT=': web,
    'authorize() ': `{ cat >> '${sshd.authorizedKeys}'; }`,
  }
  await walk(fillIn([...tour.slice(0, LOGGED_IN), ...stations], own), gantry, folder)
  for (const site of [here, web]) {
    const page = await readFile(join(site, 'shop/current/index.html'), 'utf8')
    assert.equal(page, 'Welcome to the shop')
  }
}

type Station = { commands: string; expected: string }

/** Each block of commands with the output block after it; without one, the commands print nothing. */
function readStations(page: string): Station[] {
  const stations: Station[] = []
  for (const [, language, lines] of page.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    if (language === 'bash') stations.push({ commands: lines!, expected: '' })
    else stations.at(-1)!.expected = lines!
  }
  return stations
}

/** Replaces the lines in which readers enter their own values; each is known by how it begins. */
function fillIn(stations: Station[], own: Record<string, string>): Station[] {
  const left = new Set(Object.keys(own))
  const filled = stations.map(({ commands, expected }) => {
    const lines = commands.split('\n').map((line) => {
      const beginning = [...left].find((one) => line.startsWith(one))
      if (beginning === undefined) return line
      left.delete(beginning)
      return beginning + own[beginning]
    })
    return { commands: lines.join('\n'), expected }
  })
  assert.deepEqual([...left], [], 'some lines to fill in were not found')
  return filled
}

/** Types everything, compares the output, and stops Gantry. */
async function walk(stations: Station[], gantry: GantryProcess, folder: string) {
  const at = (text: string) => text.replaceAll(ADDRESS, gantry.url!)
  const shown = await typeIntoShell(
    stations.map(({ commands }) => at(commands)),
    folder,
  )
  stations.forEach(({ commands, expected }, index) => {
    assertShown(shown[index] ?? '', at(expected), `after typing:\n${commands}`)
  })
  assert.equal(await gantry.stop(), 0)
}

/** All blocks run in one shell; the first command that fails ends it. */
async function typeIntoShell(blocks: string[], folder: string): Promise<string[]> {
  const mark = '=== next block ==='
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: folder,
    env: { PATH: `${process.env.PATH}:${dirname(process.execPath)}` },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  // Kills the whole group: a command may be waiting for a run that never ends.
  const deadline = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), TYPED_WITHIN_MS)
  shell.stdin.end(`set -eo pipefail\n${blocks.join(`\necho '${mark}'\n`)}`)
  const [output, [code]] = await Promise.all([text(shell.stdout), once(shell, 'close')])
  clearTimeout(deadline)
  assert.equal(code, 0, `the shell failed after:\n${output}`)
  return output.split(mark).map((block) => block.trim())
}

/** Readable by other accounts: as root, steps run under one of them. */
async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-tour-')))
  later(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  await chmod(folder, 0o755)
  return folder
}
