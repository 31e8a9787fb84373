// What the README promises, tried: its table, its links, and its tour, typed line by line into a shell.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { configurationIn, renderConfiguration, withConfiguration } from '../scripts/readme-config.ts'
import { startGantry, temporaryHome } from './process.ts'

const root = join(import.meta.dirname, '..')
const readme = await readFile(join(root, 'README.md'), 'utf8')

const ADDRESS = 'http://127.0.0.1:7070'

test('the configuration table of the README is the one that the settings make', () => {
  assert.equal(configurationIn(readme), renderConfiguration(), 'run: node scripts/readme-config.ts')
  assert.equal(withConfiguration(readme, renderConfiguration()), readme)
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

test('the tour of the README shows what it says, line by line', async (t) => {
  const gantry = await startGantry(t, { GANTRY_HOME: await temporaryHome(t) })
  const password = /with the password (\S+) \(shown this once\)/.exec(gantry.output.join('\n'))?.[1]
  assert.ok(gantry.url && password, 'the first start shows an address and a password')
  const stations = readTour(readme.replaceAll(ADDRESS, gantry.url)).map((station) => ({
    ...station,
    commands: station.commands.replace(/^PASSWORD=.*$/m, `PASSWORD='${password}'`),
  }))
  assert.ok(stations.length >= 10, 'the tour was not found')
  const shown = await typeIntoShell(stations.map((station) => station.commands))
  stations.forEach(({ commands, expected }, index) => {
    assert.match(shown[index] ?? '', pattern(expected), `after typing:\n${commands}`)
  })
  assert.equal(await gantry.stop(), 0)
})

type Station = { commands: string; expected: string }

/** Each block of commands with the block after it that shows their output; none means that they say nothing. */
function readTour(page: string): Station[] {
  const tour = /^## A tour.*?(?=^## )/ms.exec(page)?.[0] ?? ''
  const stations: Station[] = []
  for (const [, language, lines] of tour.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    if (language === 'bash') stations.push({ commands: lines!, expected: '' })
    else stations.at(-1)!.expected = lines!
  }
  return stations
}

/** `…` stands for anything on its line, also for nothing. */
function pattern(expected: string): RegExp {
  const parts = expected
    .trim()
    .split('…')
    .map((part) => RegExp.escape(part))
  return new RegExp(`^${parts.join('[^\\n]*')}$`)
}

/** All blocks go into one shell; the first command that fails ends it. */
async function typeIntoShell(blocks: string[]): Promise<string[]> {
  const mark = '=== next block ==='
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  shell.stdin.end(`set -eo pipefail\n${blocks.join(`\necho '${mark}'\n`)}`)
  const [output, [code]] = await Promise.all([text(shell.stdout), once(shell, 'close')])
  assert.equal(code, 0, `the shell gave up after:\n${output}`)
  return output.split(mark).map((block) => block.trim())
}
