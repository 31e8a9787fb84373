// The tour and the guides are true: typed line by line into a shell, they show what they say.
import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { approveLogin, browserThatNotes, type Login } from '#test/support/browser-login.ts'
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
import { openTerminal } from '#test/support/terminal.ts'

const root = join(import.meta.dirname, '../..')
const readPage = (path: string) => readFile(join(root, path), 'utf8')

const ADDRESS = 'http://127.0.0.1:7070'
const TYPED_WITHIN_MS = 120_000

const tour = readStations(await readPage('docs/tour.md'))
/** The guides start with the first stations of the tour: install, log in. */
const LOGGED_IN = 2
/** The one question that is answered, with yes. */
const QUESTION = 'Apply these changes?'
/** Wide enough for every line. */
const COLUMNS = 1_000

test('the tour shows what it says, line by line', async (t) => {
  const gantry = await startGantry(t, { GANTRY_HOME: await temporaryHome(t) })
  const password = /with the password (\S+) \(shown this once\)/.exec(gantry.output.join('\n'))?.[1]
  assert.ok(password, 'the first start shows a password')
  assert.ok(tour.length >= 10, 'the tour was not found')
  const login = { email: ADMIN.email, password }
  await walk(t, tour, gantry, { folder: await temporaryFolder(t), login })
})

for (const [guide, sites, web] of [
  [
    'first-application',
    ['web/shop', 'here/store', 'web/store'],
    (account, port) => ({ 'WEB=': `${account}@127.0.0.1:${port}` }),
  ],
  [
    'setting-up',
    ['here/shop', 'web/shop'],
    (account, port) => ({ 'WEB_HOST=': '127.0.0.1', 'WEB_PORT=': port, 'WEB_ACCOUNT=': account }),
  ],
] as [guide: string, sites: string[], web: WebServer][]) {
  test(`an empty Gantry deploys an application to two servers as docs/guides/${guide}.md says`, async (t) => {
    const folder = await deployFromScratch(t, readStations(await readPage(`docs/guides/${guide}.md`)), web)
    for (const site of sites) {
      const page = await readFile(join(folder, site, 'current/index.html'), 'utf8')
      assert.equal(page, 'Welcome to the shop')
    }
  })
}

test('tokens are created and used as docs/guides/tokens.md says', async (t) => {
  const stations = readStations(await readPage('docs/guides/tokens.md'))
  assert.ok(stations.length >= 3, 'the stations were not found')
  const gantry = await startGantry(t, { GANTRY_HOME: await temporaryHome(t), ...ADMIN_ENVIRONMENT })
  await walk(t, [...tour.slice(0, LOGGED_IN), ...stations], gantry, { folder: await temporaryFolder(t) })
})

/** The lines that name the server reached over SSH. */
type WebServer = (account: string, port: string) => Record<string, string>

/** From an empty Gantry to sites on this machine and on one reached over SSH; the folder that has both. */
async function deployFromScratch(t: TestContext, stations: Station[], web: WebServer): Promise<string> {
  assert.ok(stations.length >= 4, 'the stations were not found')
  const [folder, sshd, repository, gantry] = await Promise.all([
    temporaryFolder(t),
    startSshd(t),
    makeRepository(t, { files: { 'index.html': 'Welcome to the shop' } }),
    temporaryHome(t).then((home) =>
      startGantry(t, { GANTRY_HOME: home, GANTRY_SAMPLE: 'false', ...ADMIN_ENVIRONMENT }),
    ),
  ])
  // The account that logs in is another one under root.
  await mkdir(join(folder, 'web'))
  await chmod(join(folder, 'web'), 0o777)
  const own = {
    'REPOSITORY=': repository.address,
    'HERE_ROOT=': join(folder, 'here'),
    'WEB_ROOT=': join(folder, 'web'),
    'authorize() ': `{ cat >> '${sshd.authorizedKeys}'; }`,
    ...web(sshd.accounts[0]!.name, String(sshd.port)),
  }
  await walk(t, fillIn([...tour.slice(0, LOGGED_IN), ...stations], own), gantry, { folder })
  return folder
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

type Visitor = { folder: string; login?: Login }

/** Types everything, compares the output, and stops Gantry. */
async function walk(t: TestContext, stations: Station[], gantry: GantryProcess, { folder, login }: Visitor) {
  const at = (text: string) => text.replaceAll(ADDRESS, gantry.url!)
  const browser = await browserThatNotes(t)
  void browser.opened().then((address) => approveLogin(gantry.url!, address, login))
  const shown = await typeIntoShell(
    t,
    stations.map(({ commands }) => at(commands)),
    { folder, browser: browser.program },
  )
  stations.forEach(({ commands, expected }, index) => {
    assertShown(shown[index] ?? '', at(expected), `after typing:\n${commands}`)
  })
  assert.equal(await gantry.stop(), 0)
}

/** All blocks run in one shell at a terminal; the first command that fails ends it. */
async function typeIntoShell(
  t: TestContext,
  blocks: string[],
  { folder, browser }: { folder: string; browser: string },
): Promise<string[]> {
  const mark = '=== next block ==='
  const script = join(folder, '.session')
  await writeFile(script, `set -eo pipefail\n${blocks.join(`\necho '${mark}'\n`)}`)
  const env = {
    PATH: `${process.env.PATH}:${dirname(process.execPath)}`,
    HOME: join(folder, '.home'),
    BROWSER: browser,
  }
  const terminal = await openTerminal(t, ['bash', '--noprofile', '--norc', script], {
    cwd: folder,
    env,
    columns: COLUMNS,
    rows: 50,
  })
  if (blocks.some((block) => block.includes('gantry apply')))
    void terminal.sees(QUESTION, TYPED_WITHIN_MS).then(
      () => terminal.press('left', 'enter'),
      () => {},
    )
  const code = await Promise.race([terminal.ended, setTimeout(TYPED_WITHIN_MS, 'too late', { ref: false })])
  const output = terminal.history()
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
